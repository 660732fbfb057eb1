"""Each peer as its documentation uses it: fill it with vectors once, then ask for the nearest.

Everything runs in this process and on this disk; telemetry is off, nothing is downloaded, and no
language model is called. Texts stand for their vectors, which are looked up, so that no peer pays
for embedding. Settings are the peers' defaults but for the width and cosine similarity.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Search = Callable[[int], Sequence[int]]
"""Numbers of the `K` stored vectors nearest to the n-th query, best first."""

K = 10
USER = "user"
BATCH = 1_000
# For the process's environment, before any of the peers is imported.
OFFLINE = {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False", "OPENAI_API_KEY": "unused"}


def mem0(folder: Path, stored: Vectors, queries: Vectors) -> Search:
    """Mem0 over its default store, Qdrant on disk; rows as `add(infer=False)` writes them.

    They are handed to its vector store in batches: `add` takes 10 ms and more for each.
    """
    from mem0 import Memory

    qdrant = {"path": str(folder), "embedding_model_dims": stored.shape[1], "on_disk": True}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = _LookUp(queries)
    for start in range(0, len(stored), BATCH):
        numbers = range(start, min(start + BATCH, len(stored)))
        memory.vector_store.insert(
            vectors=stored[start : start + BATCH].tolist(),
            ids=[f"{number:032x}" for number in numbers],
            payloads=[{"data": f"note {number}", "user_id": USER} for number in numbers],
        )

    def search(number: int) -> Sequence[int]:
        found = memory.search(f"query {number}", filters={"user_id": USER}, top_k=K, threshold=0.0)
        return [int(hit["memory"].split()[1]) for hit in found["results"]]

    return search


class _LookUp:
    """Stands where Mem0 has its embedder."""

    def __init__(self, queries: Vectors) -> None:
        self._rows = queries.tolist()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of `query N`."""
        return self._rows[int(text.split()[1])]


def chroma(folder: Path, stored: Vectors, queries: Vectors) -> Search:
    """Chroma, persistent, in process."""
    import chromadb

    client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection(
        "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    for start in range(0, len(stored), BATCH):
        numbers = range(start, min(start + BATCH, len(stored)))
        collection.add(
            ids=[str(number) for number in numbers],
            embeddings=stored[start : start + BATCH],
            documents=[f"note {number}" for number in numbers],
            metadatas=[{"user_id": USER} for _ in numbers],
        )

    def search(number: int) -> Sequence[int]:
        found = collection.query(query_embeddings=queries[number : number + 1], n_results=K)
        return [int(name) for name in found["ids"][0]]

    return search


def langgraph(folder: Path, stored: Vectors, queries: Vectors) -> Search:
    """LangGraph's in-memory store, indexed by its one text field."""
    from langgraph.store.base import PutOp
    from langgraph.store.memory import InMemoryStore

    rows = {"note": stored.tolist(), "query": queries.tolist()}

    def embed(texts: Sequence[str]) -> list[list[float]]:
        named = (text.split() for text in texts)
        return [rows[kind][int(number)] for kind, number in named]

    store = InMemoryStore(index={"dims": stored.shape[1], "embed": embed, "fields": ["text"]})
    space = ("memories", USER)
    for start in range(0, len(stored), BATCH):
        numbers = range(start, min(start + BATCH, len(stored)))
        store.batch([PutOp(space, str(n), {"text": f"note {n}"}) for n in numbers])

    def search(number: int) -> Sequence[int]:
        return [int(item.key) for item in store.search(space, query=f"query {number}", limit=K)]

    return search


def milvus_lite(folder: Path, stored: Vectors, queries: Vectors) -> Search:
    """Milvus Lite, a file of its own."""
    from pymilvus import MilvusClient

    client = MilvusClient(str(folder / "milvus.db"))
    client.create_collection("memories", dimension=stored.shape[1], metric_type="COSINE")
    for start in range(0, len(stored), BATCH):
        rows: list[dict[str, Any]] = [
            {"id": start + i, "vector": vector, "text": f"note {start + i}"}
            for i, vector in enumerate(stored[start : start + BATCH].tolist())
        ]
        client.insert("memories", rows)
    client.flush("memories")
    client.load_collection("memories")

    def search(number: int) -> Sequence[int]:
        asked = [queries[number].tolist()]
        found = client.search("memories", data=asked, limit=K, output_fields=["text"])
        return [int(hit["entity"]["text"].split()[1]) for hit in found[0]]

    return search


def hnswlib_alone(folder: Path, stored: Vectors, queries: Vectors) -> Search:
    """The graph library, M 16, ef_construction 200, ef 64, one thread: vectors and nothing else."""
    import hnswlib

    index = hnswlib.Index("cosine", stored.shape[1])
    index.init_index(len(stored), M=16, ef_construction=200)
    index.add_items(stored)
    index.set_ef(64)
    index.set_num_threads(1)
    return lambda number: index.knn_query(queries[number], K)[0][0].tolist()


def numpy_alone(folder: Path, stored: Vectors, queries: Vectors) -> Search:
    """One product of matrix and vector: vectors and nothing else, always exact."""

    def search(number: int) -> Sequence[int]:
        similarities = stored @ queries[number]
        best = np.argpartition(-similarities, K)[:K]
        return best[np.argsort(-similarities[best])].tolist()

    return search


STORES: dict[str, Callable[[Path, Vectors, Vectors], Search]] = {
    "mem0": mem0,
    "chroma": chroma,
    "langgraph": langgraph,
    "milvus-lite": milvus_lite,
    "hnswlib": hnswlib_alone,
    "numpy": numpy_alone,
}

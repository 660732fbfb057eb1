"""Figures of a relevance encoder on items kept out of its training."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from recalld.index.relevance_encoder import RelevanceEncoder
from recalld.index.relevance_pairs import Pair, join_to_length
from recalld.index.relevance_states import States, passage, query

POOL_COUNT = 300
# Every run and every average is asked the same.
SEED = 0
FIGURES = ("hit_at_5", "hit_at_1", "beats_own", "blind_at_5", "length_beats_own")


def make_pool(training: Sequence[Pair]) -> list[str]:
    """Memories of other requests: half of them needed there, half of them distractors."""
    rng = random.Random(SEED)
    pool = rng.sample([text for pair in training for text in pair.relevant], POOL_COUNT // 2)
    return pool + rng.sample([t for pair in training for t in pair.distractors], POOL_COUNT // 2)


def measure(
    model: RelevanceEncoder, states: States, pairs: Sequence[Pair], pool: Sequence[str]
) -> dict[str, float]:
    """Figures on kept-out pairs: among their own length-matched distractors and a common pool."""
    rng = random.Random(SEED)
    usable = [pair for pair in pairs if pair.relevant]
    own = [join_to_length(pair, max(map(len, pair.relevant)), 6, rng) for pair in usable]
    idle = [pair for pair in pairs if not pair.relevant]
    needed_texts = [text for pair in usable for text in pair.relevant]
    texts = [*pool, *needed_texts, *(text for near in own for text in near)]
    texts += [text for pair in idle for text in pair.distractors]
    asked = [query(pair.request) for pair in (*usable, *idle)]
    states.compute([passage(text) for text in texts] + asked)
    memories = _encode(model, states, [passage(text) for text in texts])
    vectors = dict(zip(texts, memories, strict=True))
    encoded = _encode(model, states, asked)
    requests, idle_requests = encoded[: len(usable)], encoded[len(usable) :]
    blind = requests.mean(0)
    bests = []
    counts = dict.fromkeys(FIGURES, 0)
    for pair, distractors, vector in zip(usable, own, requests, strict=True):
        candidates = [*pair.relevant, *distractors, *pool]
        matrix = np.stack([vectors[text] for text in candidates])
        needed, near = len(pair.relevant), len(pair.relevant) + len(distractors)
        scores = matrix @ vector
        order = np.argsort(-scores, kind="stable")
        bests.append(float(scores.max()))
        counts["hit_at_5"] += int((order[:5] < needed).any())
        counts["hit_at_1"] += int(order[0] < needed)
        counts["beats_own"] += int(scores[:needed].max() > scores[needed:near].max(initial=-1))
        counts["blind_at_5"] += int((np.argsort(-(matrix @ blind))[:5] < needed).any())
        longest = max(map(len, distractors), default=0)
        counts["length_beats_own"] += int(max(map(len, pair.relevant)) > longest)
    idle_bests = [
        max(float(vectors[text] @ vector) for text in (*pair.distractors, *pool))
        for pair, vector in zip(idle, idle_requests, strict=True)
    ]
    figures = {name: round(n / len(usable), 4) for name, n in counts.items()}
    return {"n": len(usable), **figures, "none_auroc": round(_auroc(bests, idle_bests), 4)}


def _auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Share of pairs in which the one of `higher` is the larger; NaN without pairs."""
    wins = np.subtract.outer(np.array(higher), np.array(lower)) > 0
    return float(wins.mean()) if wins.size else float("nan")


def _encode(model: RelevanceEncoder, states: States, texts: Sequence[str]) -> NDArray[np.float32]:
    """float32[n, hidden] of computed texts."""
    out = []
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(texts), 64):
            batch = [states[text] for text in texts[start : start + 64]]
            out.append(model(batch).float().numpy())
    return np.concatenate(out)

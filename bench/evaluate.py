"""`recalld eval SET`: replays one evaluation set through a real server over gRPC.

Starts a server of its own on a temporary directory unless an address is named; that server must
have been started with a settable clock. Prints a table per class and writes one flat JSON object.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import grpc

from recalld.bench import (
    eval_beam,
    eval_cases,
    eval_lifebench,
    eval_locomo,
    eval_madial,
    eval_next_day,
)
from recalld.bench.datasets import DatasetError
from recalld.bench.report import Report, publish, say
from recalld.bench.target import CALL_TIMEOUT_S, Target, connect, own_server
from recalld.client.testing import ServerFailed
from recalld.v1.admin_service_pb2 import GetServerInfoRequest

EXIT_OK = 0
EXIT_UNUSABLE = 2  # the set, the path or the server cannot be used

Runner = Callable[[Target, Path], Report]
RANKED_SETS: Final[Mapping[str, Runner]] = MappingProxyType(
    {
        "locomo": eval_locomo.run,
        "beam": eval_beam.run,
        "lifebench": eval_lifebench.run,
        "madial": eval_madial.run,
    }
)
SETS: Final = ("next-day", "cases", *RANKED_SETS)


def evaluate(
    set_name: str, path: Path, *, pool: int = 0, target: str | None = None, embedder: str = "onnx"
) -> Report:
    """Replays one set.

    Args:
        set_name: one of `SETS`.
        path: file or folder in the format of that set.
        pool: next-day only: scenarios to a store; 0 or 1 keeps them apart.
        target: address of a running server with a settable clock; None starts one.
        embedder: of the server started here.

    Raises:
        ValueError: there is no such set, or the server's clock cannot be set.
        DatasetError: nothing of that format is at `path`.
        grpc.RpcError: the server failed a call that the set needs.
    """
    if set_name not in SETS:
        raise ValueError(f"unknown set {set_name!r}: one of {', '.join(SETS)}")
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder")
    if target is None:
        with own_server(embedder) as address:
            return _evaluate(set_name, path, pool, address, embedder)
    return _evaluate(set_name, path, pool, target, embedder)


def _evaluate(set_name: str, path: Path, pool: int, address: str, embedder: str) -> Report:
    with connect(address) as server:
        info = server.admin.GetServerInfo(GetServerInfoRequest(), timeout=CALL_TIMEOUT_S)
        if not info.test_clock:
            raise ValueError(f"the server at {address} needs --test-clock")
        if set_name == "next-day":
            return eval_next_day.run(server, path, pool)
        if set_name == "cases":
            return eval_cases.run(server, path, embedder)
        return RANKED_SETS[set_name](server, path)


def command(
    set_name: str,
    path: Path,
    *,
    pool: int = 0,
    target: str | None = None,
    json_file: Path | None = None,
    embedder: str = "onnx",
) -> int:
    """Replays one set, prints it and writes its figures; the command line's entry.

    Returns:
        0, or 2 if the set, the path or the server cannot be used (the reason is printed).
    """
    try:
        report = evaluate(set_name, path, pool=pool, target=target, embedder=embedder)
    except (ValueError, DatasetError, ServerFailed) as error:
        say(f"recalld eval: {error}")
        return EXIT_UNUSABLE
    except grpc.RpcError as error:
        status = error.code().name if isinstance(error, grpc.Call) else "no status"
        detail = error.details() if isinstance(error, grpc.Call) else str(error)
        say(f"recalld eval: the server answered {status}: {detail}")
        return EXIT_UNUSABLE
    publish(report, json_file)
    return EXIT_OK

"""`recalld eval SET`: replays one evaluation set through a real server over gRPC.

Starts a server of its own on a temporary directory unless an address is named; that server must
have been started with a settable clock. Prints a table per class and writes one flat JSON object.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import grpc

from recalld.bench import (
    ablation,
    eval_beam,
    eval_cases,
    eval_lifebench,
    eval_locomo,
    eval_madial,
    eval_next_day,
    eval_precision,
)
from recalld.bench.datasets import DatasetError
from recalld.bench.report import Report, publish, say
from recalld.bench.target import CALL_TIMEOUT_S, Target, connect, own_server
from recalld.client.testing import ServerFailed
from recalld.v1.admin_service_pb2 import GetServerInfoRequest

EXIT_OK = 0
EXIT_UNUSABLE = 2  # the set, the path or the server cannot be used

Runner = Callable[[Target, Path, Sequence[str]], Report]
RANKED_SETS: Final[Mapping[str, Runner]] = MappingProxyType(
    {
        "locomo": eval_locomo.run,
        "beam": eval_beam.run,
        "lifebench": eval_lifebench.run,
        "madial": eval_madial.run,
        "precision": eval_precision.run,
    }
)
SETS: Final = ("next-day", "cases", *RANKED_SETS)


@dataclass(frozen=True)
class Options:
    """How a set is replayed.

    Attributes:
        pool: next-day only: scenarios to a store; 0 or 1 keeps them apart.
        without: channels to leave out, each by itself, in a further round of the questions.
        target: address of a running server with a settable clock; None starts one.
        embedder: of the server started here.
    """

    pool: int = 0
    without: Sequence[str] = ()
    target: str | None = None
    embedder: str = "onnx"


def evaluate(set_name: str, path: Path, options: Options = Options()) -> Report:
    """Replays one set.

    Args:
        set_name: one of `SETS`.
        path: file or folder in the format of that set.
        options: how.

    Raises:
        ValueError: there is no such set or channel, the set has no ranking to leave a channel out
            of, or the server's clock cannot be set.
        DatasetError: nothing of that format is at `path`.
        grpc.RpcError: the server failed a call that the set needs.
    """
    if set_name not in SETS:
        raise ValueError(f"unknown set {set_name!r}: one of {', '.join(SETS)}")
    ablation.check(options.without)
    if options.without and set_name == "cases":
        raise ValueError("cases pass or fail: there is no ranking to leave a channel out of")
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder")
    if options.target is None:
        with own_server(options.embedder) as address:
            return _evaluate(set_name, path, options, address)
    return _evaluate(set_name, path, options, options.target)


def _evaluate(set_name: str, path: Path, options: Options, address: str) -> Report:
    with connect(address) as server:
        info = server.admin.GetServerInfo(GetServerInfoRequest(), timeout=CALL_TIMEOUT_S)
        if not info.test_clock:
            raise ValueError(f"the server at {address} needs --test-clock")
        if set_name == "next-day":
            return eval_next_day.run(server, path, options.pool, options.without)
        if set_name == "cases":
            return eval_cases.run(server, path, options.embedder)
        return RANKED_SETS[set_name](server, path, options.without)


def command(
    set_name: str, path: Path, options: Options = Options(), json_file: Path | None = None
) -> int:
    """Replays one set, prints it and writes its figures; the command line's entry.

    Returns:
        0, or 2 if the set, the path or the server cannot be used (the reason is printed).
    """
    try:
        report = evaluate(set_name, path, options)
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

"""The filter in front of every write: sensitive data is refused, replaced or sealed.

It works on the message before a handler sees it, so that what is embedded, stored, answered or kept
for idempotency is clean. It writes nothing and keeps nothing.

Invariants: a refusal names field and class, never the value; a value found in one text of a request
is replaced in all of them; nothing more is found in what was screened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count

from google.protobuf.message import Message

from recalld.server.call import Call
from recalld.server.errors import SensitiveData
from recalld.server.screened import NOTHING, Screened, ScreenedField
from recalld.server.screened_places import Place, Role, is_screened, places_of, user_of
from recalld.server.sealing import Sealer
from recalld.server.sections import SensitiveSection
from recalld.server.sensitive import find, replaced, with_repeats
from recalld.server.sensitive_class import CLASSES, Finding, SensitiveClass
from recalld.server.sensitive_text import fold
from recalld.v1 import memory_service_pb2

NUMBERS = frozenset({SensitiveClass.RESIDENT_ID, SensitiveClass.BANK_CARD, SensitiveClass.PHONE})
"""Classes whose values are the same in any grouping of their digits."""
NAME_JOINTS = str.maketrans("._/:", "    ")
ROUND_COUNT_MAX = 8
"""Text that is written to hide one number behind the other is refused after so many."""
OFF_LOOP_BYTES = 8_192
"""Requests from this size on are screened beside the event loop: it would stand still for long."""


class Policy(Enum):
    """What becomes of a class, in the words of the settings."""

    REJECT = "reject"
    REDACT = "redact"
    SEAL = "seal"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Screen:
    """Screens requests.

    Attributes:
        policies: of every class that is not let through.
        sealer: there where a class is sealed.

    Thread safety: every method may be called from any thread.
    """

    policies: Mapping[SensitiveClass, Policy]
    sealer: Sealer | None = None

    def request(self, request: Message, tenant: str, user_id: str) -> Screened:
        """Replace what has to be replaced in a request.

        Args:
            request: changed in place.
            tenant, user_id: whose it is; equal values of two users get different placeholders.

        Returns:
            What was done.

        Raises:
            SensitiveData: the policy does not take what is in it; the request is of no more use.
        """
        if not self.policies or not is_screened(request):
            return NOTHING
        screened = NOTHING
        # What was replaced may have hidden what it touched: it ends when nothing is found any more.
        for round_number in count():
            found = self._found(request)
            if not found:
                break
            for place, findings in found:
                self._refuse(place, findings, is_last=round_number == ROUND_COUNT_MAX)
            screened = screened.and_then(self._replaced(found, tenant, user_id))
        _drop_vectors(request, screened.fields)
        return screened

    def _found(self, request: Message) -> list[tuple[Place, list[Finding]]]:
        """Texts that hold something, and what."""
        places = list(places_of(request))
        by_place = [self._found_in(place) for place in places]
        if not any(by_place):
            return []
        by_place = with_repeats([place.text for place in places], by_place)
        return [(p, f) for p, f in zip(places, by_place, strict=True) if f]

    def _found_in(self, place: Place) -> list[Finding]:
        """What one text holds; the words of a name are parted by more than spaces."""
        found = find(place.text, self.policies, place.name)
        if found or place.role is not Role.NAME:
            return found
        return find(place.text.translate(NAME_JOINTS), self.policies)

    def _refuse(self, place: Place, findings: Sequence[Finding], *, is_last: bool) -> None:
        """Refuse what is not to be replaced; in the last round whatever there still is.

        Raises:
            SensitiveData: names field and class.
        """
        for finding in findings:
            label = finding.sensitive_class.label
            if is_last:
                raise SensitiveData(place.path, label, "too much of it without anything between")
            if place.role is Role.SELECTOR:
                continue
            if self.policies[finding.sensitive_class] is Policy.REJECT:
                raise SensitiveData(place.path, label, "which this server does not store")
            if place.role is Role.NAME:
                raise SensitiveData(place.path, label, "which a name must not hold")

    def _replaced(
        self, found: Sequence[tuple[Place, list[Finding]]], tenant: str, user_id: str
    ) -> Screened:
        """Put placeholders where something was found."""
        fields: list[ScreenedField] = []
        originals: dict[str, str] = {}
        selectors: dict[str, str] = {}
        for place, findings in found:
            names = []
            for finding in findings:
                original = place.text[finding.start : finding.end]
                name = self._placeholder(finding.sensitive_class, original, tenant, user_id)
                names.append(name)
                if place.role is not Role.SELECTOR:
                    is_sealed = self.policies[finding.sensitive_class] is Policy.SEAL
                    fields.append(
                        ScreenedField(place.told_path, finding.sensitive_class, is_sealed)
                    )
                    originals |= {name: original} if is_sealed else {}
            if place.role is Role.SELECTOR:
                selectors[place.path] = place.text
            place.put(replaced(place.text, findings, names))
        return Screened(tuple(fields), originals, selectors)

    def _placeholder(
        self, sensitive_class: SensitiveClass, original: str, tenant: str, user_id: str
    ) -> str:
        """What stands for a text."""
        if self.policies[sensitive_class] is not Policy.SEAL:
            return f"[{sensitive_class.label}]"
        assert self.sealer is not None
        tag = self.sealer.tag(tenant, user_id, sensitive_class, _plain(original, sensitive_class))
        return f"[{sensitive_class.label}:{tag}]"


async def screened_call(
    screen: Screen, pool: ThreadPoolExecutor, request: Message, call: Call
) -> Call:
    """The call of a request whose text is kept, screened; the request is changed in place.

    Args:
        screen: the filter.
        pool: threads for large requests: their texts take the event loop too long.
        request: one that `is_screened`.
        call: its call.

    Raises:
        SensitiveData: as `Screen.request`.
    """
    arguments = (request, call.tenant, user_of(request))
    if request.ByteSize() < OFF_LOOP_BYTES:
        screened = screen.request(*arguments)
    else:
        loop = asyncio.get_running_loop()
        screened = await loop.run_in_executor(pool, screen.request, *arguments)
    return call if screened is NOTHING else replace(call, screened=screened)


def make_screen(section: SensitiveSection, sealer: Sealer | None) -> Screen:
    """The filter that the settings ask for."""
    policies = {member: Policy(getattr(section, member.label)) for member in CLASSES}
    return Screen(
        {m: policy for m, policy in policies.items() if policy is not Policy.ALLOW}, sealer
    )


def _plain(original: str, sensitive_class: SensitiveClass) -> str:
    """One spelling for equal values."""
    folded = fold(original).text
    if sensitive_class in NUMBERS:
        return "".join(letter for letter in folded.upper() if letter.isalnum())
    return folded.lower() if sensitive_class is SensitiveClass.EMAIL else folded


def _drop_vectors(request: Message, fields: Sequence[ScreenedField]) -> None:
    """Take away given vectors of contents that were replaced: they tell of the original."""
    if not isinstance(
        request, memory_service_pb2.RememberRequest | memory_service_pb2.IngestRequest
    ):
        return
    changed = {screened.path for screened in fields}
    for index, item in enumerate(request.memories):
        if f"memories[{index}].memory.content" in changed:
            item.ClearField("vector")
            item.ClearField("vector_fingerprint")

"""Where two plans of one meaning may still differ: ties, exact hits, odd ids and rounding, each in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fairdraw.plan import CUSTOM, Plan
from fairdraw.translation.meaning import meaning

_EQUALS = MappingProxyType(
    {
        "all": "keeps all of them",
        "lowest": "keeps the lower ids",
        "highest": "keeps the higher ids",
        "any": "leaves open which it keeps",
    }
)
TOPICS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "top_k": ("where several tokens equal the k-th best", _EQUALS),
        "top_p": ("where equal tokens stand at the edge of top_p", _EQUALS),
        "hit": (
            "where the mass before a token is exactly p",
            MappingProxyType({"inclusive": "drops it", "strict": "keeps it"}),
        ),
        "min_p": (
            "where a token has exactly the least share",
            MappingProxyType({"inclusive": "keeps it", "strict": "drops it"}),
        ),
        "one": (
            "where several tokens are the best",
            MappingProxyType(
                {"greedy": "takes the first", "top_k": "cuts by top_k", "min_p": "keeps all", "top_p": "cuts by top_p"}
            ),
        ),
        "padding": (
            "in a row with left padding",
            MappingProxyType({"seen": "counts the padding as seen", "": "does not count it"}),
        ),
        "bad_words": (
            "where a bad word begins in the prompt",
            MappingProxyType({"all": "forbids its end", "output": "does not see it", "": "has none"}),
        ),
        "beyond": (
            "with a k beyond the vocabulary",
            MappingProxyType(
                {"": "keeps all", "refuse_whole": "refuses V and more", "refuse_more": "refuses more than V"}
            ),
        ),
        "pivot": (
            "where a cut reaches the least score of a row (behind a mask or allowed ids)",
            MappingProxyType({"": "cuts as elsewhere", "yes": "cuts otherwise, or not at all"}),
        ),
        "candidates": (
            "where tokens are at -inf",
            MappingProxyType({"counted": "counts them in an entropy", "": "does not"}),
        ),
        "temperature": (
            "rounding, about 1e-7 of a logit",
            MappingProxyType(
                {
                    "divide": "divides in float32",
                    "multiply": "multiplies by float32(1 / T)",
                    "exact": "divides exactly",
                    "": "does not scale",
                }
            ),
        ),
    }
)
"""Topic of an edge to when it matters, and what each rule does."""
_NO_RULE = "has no such rule"
_OPEN = frozenset({"top_k", "top_p"})


def edges(source: Plan, target: Plan) -> tuple[str, ...]:
    """Where two plans of one meaning may still differ.

    Examples
    --------
    >>> source = Plan.parse("transformers: do_sample=true top_k=5")
    >>> for sentence in edges(source, Plan.parse("candle: TopK k=5 temperature=1")):
    ...     print(sentence)
    where several tokens equal the k-th best: transformers keeps all of them, candle leaves open which it keeps
    """
    own, theirs = meaning(source).edges, meaning(target).edges
    names = side_names(source, target)
    found = []
    for topic in dict.fromkeys((*own, *theirs)):
        a, b = own.get(topic, ""), theirs.get(topic, "")
        if a == b and not (topic in _OPEN and "any" in a):
            continue
        if topic == "window":
            found.append(f"in a text of more than {a or b} tokens: the penalties of one see all of it")
            continue
        when, words = TOPICS.get(topic) or _of_a_stage(topic)
        sides = [
            f"{name} {words.get(rule, rule or 'has no such rule')}" for name, rule in zip(names, (a, b), strict=True)
        ]
        found.append(f"{when}: {', '.join(sides)}")
    return tuple(found)


def _of_a_stage(topic: str) -> tuple[str, Mapping[str, str]]:
    """The words for a switch of a stage that stands where it stands: ``typical.ties``."""
    stage, _, name = topic.partition(".")
    if name == "ties":
        return f"where equal tokens stand at the edge of {stage}", _EQUALS
    if name == "boundary":
        return f"where a token lies exactly on the edge of {stage}", {}
    if name == "operation":
        return f"rounding in {stage}, about 1e-7 of a logit", TOPICS["temperature"][1]
    return f"in {stage}, by {name}", {}


def side_names(source: Plan, target: Plan) -> tuple[str, str]:
    """What two plans are called in a sentence: engines, else engines with versions."""
    for names in (
        (source.dialect.partition("@")[0], target.dialect.partition("@")[0]),
        (source.dialect, target.dialect),
    ):
        if names[0] != names[1]:
            return tuple("the composed plan" if name == CUSTOM else name for name in names)  # type: ignore[return-value]
    return "the source", "the target"

"""Random rows, texts and configurations of transformers' ``generate``."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import fairdraw as fd

SIZES = (6, 50, 1000, 32768, 49152)
SHARES = (0.3, 0.24, 0.24, 0.16, 0.06)
CHOICES = {
    "temperature": (1e-3, 0.05, 0.3, 0.7, 1.0, 1.3, 2.0),
    "top_k": (0, 0, 0, 0, 0, 1, 2, 3, 5, 40, 100),
    "top_p": (0.05, 0.5, 0.75, 0.8, 0.9, 0.95, 0.999, 1.0),
    "min_p": (0.0, 0.01, 0.05, 0.1, 0.5, 1.0),
    "typical_p": (0.1, 0.2, 0.5, 0.9, 0.95),
    "repetition_penalty": (0.8, 1.0, 1.1, 1.3, 2.0),
    "top_h": (0.1, 0.4, 0.7, 0.95, 1.0),
    "epsilon_cutoff": (0.0, 1e-5, 3e-4, 0.01, 0.2, 1.0, 2.0),
    "eta_cutoff": (0.0, 1e-5, 3e-4, 0.01, 0.2, 1.0, 2.0),
    "encoder_repetition_penalty": (0.7, 1.0, 1.2, 2.0),
    "no_repeat_ngram_size": (0, 1, 2, 3),
    "encoder_no_repeat_ngram_size": (0, 1, 2, 3),
    "guidance_scale": (0.5, 1.0, 1.5, 3.0),
    "remove_invalid_values": (False, True),
    "renormalize_logits": (False, True),
}
OFTEN = {
    "typical_p": 0.2,
    "top_k": 0.8,
    "temperature": 0.5,
    "top_p": 0.45,
    "min_p": 0.4,
    "repetition_penalty": 0.4,
    "top_h": 0.12,
}
SELDOM = 0.14
UNIFORM = ("temperature", "top_p", "min_p", "typical_p", "top_h")


@dataclass(frozen=True)
class Case:
    config: dict
    row: np.ndarray
    prompt: list
    output: list
    attention: list
    has_ties: bool
    """Whether two tokens of the row have the same finite logit."""
    second: np.ndarray | None = None

    @property
    def history(self) -> fd.History:
        padding = self.attention.index(1) if 1 in self.attention else 0
        return fd.History(prompt=self.prompt, output=self.output, left_padding=padding)


def random_row(random: np.random.Generator, vocab: int) -> np.ndarray:
    row = (random.normal(size=vocab) * random.choice([0.3, 1.0, 2.0, 4.0])).astype(np.float32)
    match random.integers(5):
        case 0:
            row = row.astype(ml_dtypes.bfloat16).astype(np.float32)
        case 1 if vocab <= 1000:
            row = np.round(row * 2) / 2
        case 2:
            row[random.random(vocab) < 0.3] = -np.inf
            row[random.integers(vocab)] = 1.0
    return row + np.float32(0)


def random_text(random: np.random.Generator, near: int) -> tuple[list, list]:
    """Prompt and output; in some the output repeats the prompt, in some the text has just begun."""
    prompt = random.integers(near, size=random.integers(1, 12)).tolist()
    output = random.integers(near, size=random.integers(0, 8)).tolist()
    match random.integers(6):
        case 0 | 1:
            output = prompt[: random.integers(len(prompt) + 1)]
        case 2:
            prompt, output = prompt[:1], output[:1]
        case 3:
            output = []
    return prompt, output


def random_ids(random: np.random.Generator, near: int, most: int = 3) -> list:
    return random.integers(near, size=random.integers(1, most + 1)).tolist()


def random_sequences(random: np.random.Generator, near: int, ids: list) -> list:
    """Sequences that end alike, most of which go on from the text."""
    last = int(random.integers(near))
    return [
        [last],
        [ids[-1], last],
        [*ids[-2:], last],
        [*ids[-3:], last],
        [1, last],
        [1, 2, int(random.integers(near))],
    ]


def random_rules(random: np.random.Generator, vocab: int, near: int, prompt: list, output: list) -> dict:
    """What is given as ids: most with a chance of one in seven."""
    rules: dict = {}
    ids = [*prompt, *output]
    if random.random() < 0.2:
        rules["bad_words_ids"] = [[int(random.integers(near))], [ids[-1], int(random.integers(near))], [1, 2, 3]]
    if random.random() < 0.35:
        rules["eos_token_id"] = random_ids(random, near, 2)
        if random.random() < 0.5:
            rules["min_new_tokens"] = int(random.integers(1, 10))
        if random.random() < 0.3:
            rules["min_length"] = int(random.integers(1, 20))
        if random.random() < 0.4:
            start = max(0, len(output) - int(random.integers(-1, 4)))
            rules["exponential_decay_length_penalty"] = [start, random.choice([0.9, 1.01, 1.5, 2.0]).item()]
        if "bad_words_ids" in rules:
            rules["bad_words_ids"].append(rules["eos_token_id"][:1])  # which the engine drops
    if random.random() < SELDOM:
        sequences = {tuple(sequence): random.normal() * 2 for sequence in random_sequences(random, near, ids)}
        rules["sequence_bias"] = [[list(sequence), bias] for sequence, bias in sequences.items()]
    for name in ("forced_bos_token_id", "suppress_tokens", "begin_suppress_tokens", "forced_eos_token_id"):
        if random.random() < SELDOM:
            rules[name] = random_ids(random, near)
    if "forced_eos_token_id" in rules:
        rules["max_new_tokens"] = len(output) + int(random.integers(1, 3))
    if random.random() < SELDOM:
        scheme = "selfhash" if 40 < vocab <= 1000 and random.random() < 0.5 else "lefthash"
        rules["watermarking_config"] = {"seeding_scheme": scheme, "bias": random.choice([0.5, 2.0]).item()}
        if random.random() < 0.5:
            rules["watermarking_config"] |= {"context_width": 2, "greenlist_ratio": 0.5, "hashing_key": 12345}
    return rules


def random_case(random: np.random.Generator) -> Case:
    vocab = int(random.choice(SIZES, p=SHARES))
    row = random_row(random, vocab)
    config: dict = {"do_sample": bool(random.random() > 0.06)}
    for name, choices in CHOICES.items():
        if random.random() < OFTEN.get(name, SELDOM):
            config[name] = random.choice(choices).item()
            if name in UNIFORM and config[name] < 1 and random.random() < 0.5:
                config[name] = float(random.uniform(0.02, 0.98))
    near = min(vocab, 40)
    prompt, output = random_text(random, near)
    config |= random_rules(random, vocab, near, prompt, output)
    if vocab >= 32768:
        # Their float32 entropy errs there, which has a test of its own.
        config = {name: value for name, value in config.items() if name not in ("typical_p", "eta_cutoff")}
    finite = row[row > -np.inf]
    has_ties = np.unique(finite).size < finite.size
    if has_ties and {"top_h", "top_p"} & config.keys():
        # A watermark would weigh the members of an open tie apart.
        config.pop("watermarking_config", None)
    if has_ties and "watermarking_config" in config:
        # Which of several equal tokens are among the 40 best is left to a sort.
        config["watermarking_config"]["seeding_scheme"] = "lefthash"
    padding = int(random.integers(len(prompt))) if random.random() < 0.3 else 0
    return Case(
        config=config,
        row=row,
        prompt=prompt,
        output=output,
        attention=[0] * padding + [1] * (len(prompt) - padding),
        has_ties=has_ties,
        second=random.normal(size=vocab).astype(np.float32) if config.get("guidance_scale", 1.0) != 1.0 else None,
    )

"""Rules with one fault each, as they were found in the wild."""

import numpy as np

from fairdraw.generation.speculation.block import Block
from fairdraw.generation.speculation.chance import KeyedChance, arrivals
from fairdraw.generation.speculation.siblings import TokenWise, at, normalised
from fairdraw.streams.noise import Noise, Purpose


class ResidualIsTarget(TokenWise):
    def residual(self, left, law):
        return left


class AcceptIfLarger(TokenWise):
    def acceptance(self, left, law, token):
        return (at(left, token) >= at(law, token)).astype(float)


class InvertedRatio(TokenWise):
    def acceptance(self, left, law, token):
        return np.minimum(1, at(law, token) / at(left, token))


class BonusFromTheRowBefore(TokenWise):
    def verify_chain(self, target, laws, tokens, coin):
        late = np.concatenate([target[..., :-1, :], target[..., -2:-1, :]], axis=-2)
        return TokenWise.verify_chain(self, late, laws, tokens, coin)


class RawDraftLaw(TokenWise):
    """The draft was drawn at temperature 0.7; its law before temperature is what is compared."""

    def verify_chain(self, target, laws, tokens, coin):
        raw = normalised(laws**0.7, laws)
        return TokenWise.verify_chain(self, target, raw, tokens, coin)


class ReusedResidual(TokenWise):
    """Every sibling leaves the residual of the target, not of what was left."""

    def verify(self, target, laws, tokens, coin):
        accepted, rest = TokenWise.verify(self, target, laws, tokens, coin)
        return accepted, np.where(
            (accepted == tokens.shape[-1])[..., None], self.residual(target, laws[..., -1, :]), rest
        )


class EverySiblingAgainstTheTarget(TokenWise):
    def residual(self, left, law):
        return left


class LawsNotRenormalised(TokenWise):
    """Siblings without replacement, with the law of the first for all."""

    def verify(self, target, laws, tokens, coin):
        return TokenWise.verify(self, target, np.repeat(laws[..., :1, :], tokens.shape[-1], axis=-2), tokens, coin)


class BlockWithoutSurplus(Block):
    def acceptance(self, shares, surplus):
        return shares[..., 1:]


class BlockWithTheWholeTarget(Block):
    def surplus(self, target, laws, shares):
        return np.maximum(target[..., :-1, :] - laws, 0)


class BlockWithTheRowBefore(Block):
    def verify_chain(self, target, laws, tokens, coin):
        late = np.concatenate([target[..., :-1, :], target[..., -2:-1, :]], axis=-2)
        return Block.verify_chain(self, late, laws, tokens, coin)


class SharedWithDraft(KeyedChance):
    """The residual is drawn with the noise that drew the draft."""

    def token(self, weights, *, purpose, position):
        if purpose is Purpose.RESIDUAL:
            noise = Noise(seed=self._seed, position=position, sample_index=self._sample_index, purpose=Purpose.DRAFT)
            return arrivals(weights, 1, noise)[..., 0]
        return KeyedChance.token(self, weights, purpose=purpose, position=position)

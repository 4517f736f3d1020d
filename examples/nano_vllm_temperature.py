"""The temperature table of an article on nano-vllm, whose six logits do not give the printed shares.

They cannot be saved by words that are left out ("..."): those would need 15.8 %, 7.8 % and 20.1 % of the mass at
T = 1, 2 and .5.  With a = exp(l / 2) over those words, sum a <= .895 makes sum a^4 <= .64, but T = .5 needs 15.9.
"""

from side_by_side import show

import fairdraw as fd

LOGITS = [2.0, 1.0, 0.5, 0.3, 0.1, -0.5]
PRINTED = {
    1.0: [0.42, 0.15, 0.09, 0.07, 0.06, 0.02],
    2.0: [0.29, 0.17, 0.13, 0.12, 0.10, 0.07],
    0.5: [0.64, 0.08, 0.03, 0.02, 0.01, 0.004],
}

for temperature, printed in PRINTED.items():
    shares = fd.law(fd.Plan.parse(f"nano_vllm: temperature={temperature}"), LOGITS).probabilities
    show(f"temperature {temperature}", [f"{share:.4f}" for share in shares], printed, "no softmax of these six logits")
    print(f"    [the first three have {shares[:3].sum():.1%}, the first five {shares[:5].sum():.1%}]")

show("top 3 at T=1", f"{sum(PRINTED[1.0][:3]):.0%}", "66%")
show("top 3 at T=2", f"{sum(PRINTED[2.0][:3]):.0%}", "59%")
show("top 5 at T=2", f"{sum(PRINTED[2.0][:5]):.0%}", "81%")
print('The printed numbers add up to these; at T = .5 they add up to 75% for "nearly everything".')
try:
    fd.Plan.parse("nano_vllm: temperature=0")
except fd.ParameterError as error:
    print(f"[temperature 0 is refused: {error.hint}]")

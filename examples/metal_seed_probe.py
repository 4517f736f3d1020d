"""Every seed below 2^32 is the same seed on candle's Metal device.

The host writes the 64 bits low word first, the kernel reads them high word first, and then keeps 32 of them.  With the
bytes read as they were meant, the lower half would count, and the upper half nothing.
"""

from side_by_side import show

from fairdraw.streams.candle_metal import MetalGenerator

SMALL = "0.0030706443 0.3755374 0.676627 0.69485384"
PRINTED = {
    42: SMALL,
    7: SMALL,
    299792458: SMALL,
    4294967296: "0.16422416 0.6684503 0.31429586 0.50046116",
    21474836480: "0.13277194 0.124092355 0.924061 0.028893871",
}


def four(device):
    return [str(value) for value in device.uniforms(4)]


device = MetalGenerator()
show("metal fresh", four(device), SMALL)
show("metal second", four(device), "0.037836768 0.99889874 0.879909 0.42845085")
for seed, printed in PRINTED.items():
    device.set_seed(seed)
    show(f"metal set_seed {seed}", four(device), printed)

print("\nwith the bytes read as they were meant:")
for seed in PRINTED:
    print(f"    {seed:>11}  {' '.join(four(MetalGenerator(seed, seed_reading='as_meant')))}")

"""What takes the room in the file of a model?"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from safetensors import safe_open

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.persistence import save

X, y = make_rental_ads(n_samples=300, random_state=0)
crf = LinearChainCRF().fit([[[word] for word in ad] for ad in X], y)

with TemporaryDirectory() as folder:
    path = Path(folder) / "crf.safetensors"
    save(crf, path)
    with safe_open(path, framework="numpy") as file:
        names = list(file.keys())
        sizes = {name: file.get_tensor(name).nbytes / 1000 for name in names}
    sizes["header"] = path.stat().st_size / 1000 - sum(sizes.values())

sizes = {name: size for name, size in sizes.items() if size}
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
bars = ax.barh(list(sizes)[::-1], list(sizes.values())[::-1])
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.set(xlabel="kilobytes", xlim=(0, 1.15 * max(sizes.values())))

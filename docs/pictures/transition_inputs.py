"""Hours of rain: transitions that depend on the season, and the weather of one year."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import HMM, NonHomogeneousHMM

rng = np.random.default_rng(0)
day = np.arange(6 * 365)
season = np.column_stack([np.cos(2 * np.pi * day / 365), np.sin(2 * np.pi * day / 365)])
to_wet = 1 / (1 + np.exp(-(np.array([[-1.6], [1.2]]) + 1.4 * season[:, 0])))
wet = np.zeros(len(day), int)
for t in day[1:]:
    wet[t] = rng.random() < to_wet[wet[t - 1], t]
hours = rng.poisson(np.array([1.0, 5.0])[wet])

options = {"n_states": 2, "emissions": "poisson", "random_state": 0}
plain = HMM(stop=False, **options).fit([hours[:, None]])
X = np.column_stack([hours, season])
model = NonHomogeneousHMM(transition_inputs=[1, 2], **options).fit([X])

figure, (top, bottom) = plt.subplots(
    2, 1, height_ratios=[3, 2], figsize=(6.4, 4.9), layout="constrained"
)
dry_code, wet_code = np.argsort(model.rates_[:, 0])
dry_plain, wet_plain = np.argsort(plain.rates_[:, 0])
proba = model.transition_proba([X])[0][:365]
for state, before, before_plain, name in (
    (1, wet_code, wet_plain, "wet"),
    (0, dry_code, dry_plain, "dry"),
):
    color = f"C{state}"
    top.plot(to_wet[state, :365], ":", color=color, label=f"after a {name} day, true")
    top.plot(proba[:, before, wet_code], color=color, label=f"after a {name} day, learned")
    constant = np.exp(plain.transition_logprob_[before_plain, wet_plain])
    top.axhline(constant, ls="--", color=color, lw=1, label=f"after a {name} day, HMM")
top.set(xlabel="day of the year", ylabel="probability of a wet day", xlim=(0, 364), ylim=(0, 1.4))
top.set_yticks([0, 0.25, 0.5, 0.75, 1])
top.legend(ncols=2, fontsize="small", loc="upper center")

is_wet = np.array(model.predict([X])[0])[:365] == wet_code
bottom.bar(day[:365][is_wet], hours[:365][is_wet], width=1, color="C1", label="wet")
bottom.bar(day[:365][~is_wet], hours[:365][~is_wet], width=1, color="C0", label="dry")
bottom.set(xlabel="day of the first year", ylabel="hours of rain", xlim=(0, 364))
bottom.legend(title="predicted", fontsize="small", loc="upper center")

"""
===========================================
Calm and turbulent days: a volatility model
===========================================

The returns of a stock are small on most days, but days with large returns come in groups. A hidden
Markov model describes this with a few states that last for weeks. Each state has its own variance.
The picture shows 2,000 days and the probabilities of the states. The model learned them without
labels. Afterwards it forecasts the variance of the next days.

The model is an `HMM <sklearn_struct.HMM>`. The returns are made up by a few lines of code. The
guide has a page on :doc:`hidden Markov models <../user_guide/hmm>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from sklearn_struct import HMM
from sklearn_struct.inspection import DurationDisplay, PosteriorDisplay

# %%
# Data
# ----
# Each day is calm, middle or turbulent. A return is the change of the price in per cent. Its
# standard deviation depends on the state of the day. The model sees the returns only. It learns
# from the first 1,500 days; the last 500 days test it.

rng = np.random.default_rng(0)
DEVIATIONS = np.array([0.5, 1.1, 2.6])
MEANS = np.array([0.06, 0.02, -0.1])
TRANSITION = [[0.985, 0.014, 0.001], [0.015, 0.970, 0.015], [0.000, 0.040, 0.960]]

states = [0]
for _ in range(1999):
    states.append(int(rng.choice(3, p=TRANSITION[states[-1]])))
returns = rng.normal(MEANS[states], DEVIATIONS[states])[:, None]
train = returns[:1500]
test = returns[1500:]
print("days of each state:", np.bincount(states))

# %%
# How many states?
# ----------------
# In practice nobody knows the number of states. ``bic`` weighs the likelihood against the number of
# parameters, and the lowest value is best. A series of days has no end of its own, so ``stop`` is
# False. EM starts five times, because it may end in a local optimum.

models = {}
for n in range(1, 6):
    models[n] = HMM(n_states=n, stop=False, n_init=5, tol=1e-5, random_state=0).fit([train])
    print(f"{n} states: {models[n].n_parameters_:2} parameters, BIC {models[n].bic([train]):.0f}")
best = min(models, key=lambda n: models[n].bic([train]))
print(f"the lowest BIC has {best} states")

# %%
# Learned states have numbers in no order. We sort them by their variance and give them names.
# ``from_parameters`` makes the same model with these names.

learned = models[best]
order = np.argsort(learned.covariances_[:, 0])
model = HMM.from_parameters(
    ["calm", "middle", "turbulent"],
    start=np.exp(learned.start_logprob_)[order],
    transition=np.exp(learned.transition_logprob_)[np.ix_(order, order)],
    means=learned.means_[order],
    covariances=learned.covariances_[order],
)
print("true deviations   ", DEVIATIONS)
print("learned deviations", np.sqrt(model.variances_[:, 0]).round(2))

# %%
# Which state when?
# -----------------
# The areas are the probabilities of the states given all days. The line is the returns. The most
# probable state of a day is usually the true one.

right = np.mean(model.predict_proba([returns])[0].argmax(axis=1) == states)
print(f"right states: {right:.1%}")

colours = ["#d9ead3", "#ffe599", "#e06666"]
figure, ax = plt.subplots(figsize=(10, 3.6), layout="constrained")
display = PosteriorDisplay.from_estimator(
    model, returns, stream=0, ax=ax, area_kw={"colors": colours, "alpha": 1}
)
ax.set(xlabel="day", ylabel="probability of the state")
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
display.series_ax_.set_ylabel("return, %")
plt.show()

# %%
# Forecasts of the next day
# -------------------------
# On each of the last 500 days we forecast the next day. A *state* of the filter holds what the
# model knows so far, so each day costs the same time. The forecast has a variance. We compare it
# with the mean square of the last 20 returns, a common rule of thumb.

_, state = model.filter_proba([train], return_state=True)
forecasts = []
for day in test:
    forecasts.append(model.predict_next(state=state)[0].variance[0, 0])
    _, state = model.filter_proba([[day]], state=state, return_state=True)
away = (returns[:, 0] - train.mean()) ** 2
window = np.array([away[t - 20 : t].mean() for t in range(1500, 2000)])

days = np.arange(1500, 2000)
figure, ax = plt.subplots(figsize=(10, 3.6), layout="constrained")
ax.step(days, DEVIATIONS[states[1500:]], color="black", linewidth=1, where="mid", label="truth")
ax.plot(days, np.sqrt(window), color="tab:blue", label="last 20 days")
ax.plot(days, np.sqrt(forecasts), color="tab:red", label="HMM")
ax.set(xlabel="day", ylabel="standard deviation, %", ylim=(0, None))
ax.legend(loc="upper center")
plt.show()

# %%
# How good are they?
# ------------------
# The log score is the log-density that a model gives to the return of a day, before that day. A
# higher score is better. ``log_score`` computes it for each day. The other two models have a normal
# distribution with the mean of the first 1,500 days. One has their variance, and one has the
# variance of the last 20 days.

scores = {
    "one variance": norm.logpdf(test[:, 0], train.mean(), train.std()),
    "last 20 days": norm.logpdf(test[:, 0], train.mean(), np.sqrt(window)),
    "HMM": model.log_score([returns])[0][1500:],
}
for name, score in scores.items():
    print(f"{name:12}  mean log score {score.mean():.3f}")

# %%
# Further ahead
# -------------
# On the left are forecasts for the next 200 days, after a calm day and after a turbulent day. Both
# end at the same value: far ahead, today no longer counts. On the right is how long states last. In
# an HMM one day is always the most probable duration. If your states have typical durations, use an
# `HSMM <sklearn_struct.HSMM>`.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
filtered = model.filter_proba([returns])[0]
for k, colour in ((0, "tab:green"), (2, "tab:red")):
    today = int(filtered[:, k].argmax())
    [ahead] = model.predict_next([returns[: today + 1]], steps=200)
    left.plot(np.arange(1, 201), np.sqrt(ahead.variance[:, 0]), color=colour)
left.set(xlabel="days ahead", ylabel="standard deviation, %", ylim=(0, None))
left.legend(["after a calm day", "after a turbulent day"])
durations = DurationDisplay.from_estimator(model, ax=right, line_kw={"marker": None})
for line, colour in zip(durations.lines_, ("tab:green", "tab:orange", "tab:red")):
    line.set_color(colour)
right.set(xlabel="duration in days")
right.legend()
plt.show()

matrices = {"true": np.array(TRANSITION), "learned": np.exp(model.transition_logprob_)}
for name, matrix in matrices.items():
    print(f"{name:7} mean durations in days:", (1 / (1 - np.diag(matrix))).round())

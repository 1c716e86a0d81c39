"""
====================================
Which discounts bring customers back
====================================

A customer buys often for a while, and then hardly at all. Discounts change how soon that happens,
and how soon the customer comes back. Nobody sees whether a customer is active; only the purchases
are known. A hidden Markov model whose transitions depend on the discount learns its effect. The
picture shows how many customers three plans of discounts would keep.

The model is a `NonHomogeneousHMM <sklearn_struct.NonHomogeneousHMM>`. The purchases are made up by
a few lines of code. The guide has a page on :doc:`inputs that drive transitions
<../user_guide/transition_inputs>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import HMM, NonHomogeneousHMM

# %%
# Data
# ----
# Each of 400 customers has got discounts of 0, 10 or 20 per cent, at random, for 40 weeks. An
# active customer buys twice a week, an inactive one once in five weeks. A discount does little for
# active customers, and much for inactive ones.

rng = np.random.default_rng(0)
WEEKS = 40
CONSTANT = np.array([-2.5, 1.8])  # log-odds of being active next, after inactive and active weeks
EFFECT = np.array([0.12, 0.03])  # of each per cent
RATE = np.array([0.2, 2.0])


def lives(discounts):
    """Whether customers are active in each week, for the discounts that each of them gets."""
    active = np.zeros(discounts.shape, int)
    active[:, 0] = rng.random(len(discounts)) < 0.5
    for week in range(1, discounts.shape[1]):
        before = active[:, week - 1]
        log_odds = CONSTANT[before] + EFFECT[before] * discounts[:, week]
        active[:, week] = rng.random(len(discounts)) < 1 / (1 + np.exp(-log_odds))
    return active


discounts = rng.choice([0.0, 10.0, 20.0], size=(400, WEEKS))
purchases = rng.poisson(RATE[lives(discounts)])
X = [np.column_stack(rows) for rows in zip(purchases, discounts / 10)]
train = X[:300]
test = X[300:]

# %%
# Two models
# ----------
# Both learn without labels. The second one reads column 1 as an input of its transitions, in units
# of 10 per cent. On customers that neither has seen, it is the better model of purchases.

options = {"n_states": 2, "emissions": "poisson", "random_state": 0}
plain = HMM(stop=False, **options).fit([x[:, :1] for x in train])
model = NonHomogeneousHMM(transition_inputs=[1], **options).fit(train)
print("held-out log-likelihood, HMM:", round(plain.log_likelihood([x[:, :1] for x in test]), 1))
print("held-out log-likelihood, with discounts:", round(model.log_likelihood(test), 1))

# %%
# What a discount does
# --------------------
# The coefficients are log-odds for each 10 per cent: those of an inactive customer to come back,
# and those of an active one to stay.

inactive, active = np.argsort(model.rates_[:, 0])
for state, name, true in ((inactive, "come back", EFFECT[0]), (active, "stay", EFFECT[1])):
    learned = model.transition_coef_[state, active, 0] - model.transition_coef_[state, inactive, 0]
    print(f"{name}: {learned:.2f} learned, {10 * true:.2f} true")

# %%
# Three plans
# -----------
# Samples of the model say what other discounts would do. Each plan spends 200 per cent a customer
# in 40 weeks: the same each week, 20 per cent every fourth week, or all of it in the first ten
# weeks. Dotted lines are the truth.

plans = {
    "5 % each week": np.full(WEEKS, 5.0),
    "20 % every fourth week": np.where(np.arange(WEEKS) % 4 == 0, 20.0, 0.0),
    "20 % for ten weeks": np.where(np.arange(WEEKS) < 10, 20.0, 0.0),
}
_, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for number, (name, plan) in enumerate(plans.items()):
    _, states = model.sample(4000, random_state=0, inputs=plan[:, None] / 10)
    share = (np.array([*states]) == active).mean(axis=0)
    ax.plot(100 * share, color=f"C{number}", label=name)
    true = lives(np.tile(plan, (4000, 1))).mean(axis=0)
    ax.plot(100 * true, ":", color=f"C{number}")
    print(f"{name}: {100 * share.mean():.0f} % active in the mean, {100 * true.mean():.0f} % true")
ax.set(xlabel="week", ylabel="active customers, %", ylim=(0, 100), xlim=(0, WEEKS - 1))
ax.legend()
plt.show()

"""An upper bound on the share of wrong states, from the number of wrong ones in a sample.

If a share p of all is wrong, the probability that n drawn ones are all right is (1 - p)^n, and less
if they are drawn without repetition. So "at most 1 - (1 - confidence)^(1/n) of all" is true with
that confidence; at 95 % it is about 3/n, the rule of three (Hanley & Lippman-Hand, JAMA 249, 1983).
If k are wrong, the bound is the largest p for which the probability of k or fewer wrong ones is
1 - confidence: the one-sided upper bound of Clopper & Pearson (Biometrika 26, 1934), which is true
with that confidence for every p.
"""

from math import exp, expm1, lgamma, log, log1p


def at_most(wrong: int, drawn: int, confidence: float) -> float:
    """Return the upper bound on the share of wrong states, if `wrong` of `drawn` states are wrong.

    >>> at_most(0, 299, 0.95) < 0.01 < at_most(0, 298, 0.95)
    True
    """
    if wrong == drawn:
        return 1.0
    if wrong == 0:
        return -expm1(log1p(-confidence) / drawn)
    low, high = wrong / drawn, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _up_to(wrong, drawn, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _up_to(k: int, n: int, p: float) -> float:
    """Return the binomial probability of k or fewer of n, for p above k/n."""
    if not 0 < p < 1:
        return 0.0
    term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p))
    odds, total = p / (1 - p), 0.0
    while term > total * 1e-17 and k >= 0:
        total += term
        term *= k / (n - k + 1) / odds
        k -= 1
    return total

"""What a share of all can be, if some of those drawn at random are found wrong.

If a share p of all is wrong, n drawn ones are all right with a chance of (1 - p)^n; drawn without
repetition it is less. So "at most 1 - (1 - confidence)^(1/n) of all" is true with that confidence;
at 95 % that is about 3/n, the rule of three (Hanley & Lippman-Hand, JAMA 249, 1983). Where some are
wrong, both bounds are exact ones too (Clopper & Pearson, Biometrika 26, 1934).
"""

from math import exp, expm1, lgamma, log, log1p


def share(wrong: int, drawn: int, confidence: float) -> tuple[float, float]:
    """Return between which shares of all states are wrong, if so many of those drawn are.

    >>> share(0, 299, 0.95)[1] < 0.01 < share(0, 298, 0.95)[1]
    True
    """
    if drawn == 0:
        return 0.0, 1.0
    if wrong == 0:
        return 0.0, -expm1(log1p(-confidence) / drawn)
    doubt = (1 - confidence) / 2
    low, high = 0.0, wrong / drawn
    for _ in range(60):
        middle = (low + high) / 2
        if _tail(wrong, drawn, middle, +1) < doubt:
            low = middle
        else:
            high = middle
    at_least = low
    low, high = wrong / drawn, 1.0
    for _ in range(60 if wrong < drawn else 0):
        middle = (low + high) / 2
        if _tail(wrong, drawn, middle, -1) > doubt:
            low = middle
        else:
            high = middle
    return at_least, high


def _tail(k: int, n: int, p: float, step: int) -> float:
    """Return the chance of k or more (step 1), or k or fewer (step -1), of n; p beyond k/n."""
    if not 0 < p < 1:
        return 0.0
    term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p))
    odds, total = p / (1 - p), 0.0
    while term > total * 1e-17 and 0 <= k <= n:
        total += term
        term *= (n - k) / (k + 1) * odds if step > 0 else k / (n - k + 1) / odds
        k += step
    return total

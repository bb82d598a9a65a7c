"""The inner loop of a search on bitboards: does the player to move score at least a goal?

Functions here take and return integers below 2**63, so that numba can compile them (the extra
``fast``); without numba the same code runs as Python, slower. `graphstore.solver.bitboards` makes
their arguments.

The score of an ended game is ``(cells + 2 - stones) // 2`` for the winner, its negative for the
loser, and 0 for a draw: a quick win scores more than a slow one. The search is alpha-beta with
null windows (Pearl, "Scout", AAAI 1980; Plaat et al., "Best-first fixed-depth minimax algorithms",
Artificial Intelligence 87, 1996): each question has two answers, and a bound for either. The path
is an array, not recursion, so that a search can pause, and the caller can look at the clock. The
table of transpositions keeps, of two positions with one place, the one that took more work, and
the newest one (TwoBig; Breuker et al., "Replacement schemes for transposition tables", ICCA Journal
17, 1994). A key is stored xor its data, so that threads may share a table without a lock (Hyatt and
Mann, "A lockless transposition-table implementation", ICGA Journal 25, 2002).
"""

from types import FunctionType
from typing import Any, Final, TypeAlias

Numbers: TypeAlias = list[int]  # or an array of int64

PAUSED: Final = 100  # not a score
OPEN: Final = 101  # likewise: the position has moves to try
FIELDS: Final = 10  # of a position on the path
OWN, FILLED, GOAL, BEST, MOVE, COUNT, NEXT, KEY, LIVE, BEGAN = range(FIELDS)
MOST: Final = 64  # moves of a position, and positions on a path
PLY, NODES, ENTRIES = range(3)  # of the state of a search
CELLS, BOTTOM, FULL, LENGTH, MISERE, SYMMETRIES, BYTES, STEPS = range(8)  # of a board
ORDER: Final = STEPS + 4  # how good each cell is: 64 numbers from 0 to 255
NO_MOVE: Final = 63
ZERO: Final = 64  # how a score of 0 is stored
ODD: Final = 0x1E3779B97F4A7C15
MAX: Final = 2**63 - 1


def ones(mask: int) -> int:
    """Return the number of bits of a mask."""
    mask = mask - (mask >> 1 & 0x5555555555555555)
    mask = (mask & 0x3333333333333333) + (mask >> 2 & 0x3333333333333333)
    mask = (mask + (mask >> 4)) & 0x0F0F0F0F0F0F0F0F
    mask = mask + (mask >> 8)
    mask = mask + (mask >> 16)
    return (mask + (mask >> 32)) & 127


def threats(own: int, free: int, board: Numbers) -> int:
    """Return the free cells that complete a line of `own`."""
    length, found = board[LENGTH], 0
    for at in range(STEPS, STEPS + 4):
        step = board[at]
        if step == 0:
            break
        if length == 4:
            below, above = own << step, own >> step
            below_2, above_2 = below & own << 2 * step, above & own >> 2 * step
            found |= below_2 & (own << 3 * step | above)
            found |= above_2 & (own >> 3 * step | below)
            continue
        for before in range(length):  # the number of stones below the free cell
            line = free
            for each in range(1, before + 1):
                line &= own << each * step
            for each in range(1, length - before):
                line &= own >> each * step
            found |= line
    return found & free


def can_line(cells: int, board: Numbers) -> bool:
    """Return True if some line lies within `cells`."""
    length = board[LENGTH]
    for at in range(STEPS, STEPS + 4):
        step = board[at]
        if step == 0:
            break
        run, done = cells, 1
        while done < length:
            more = min(done, length - done)
            run &= run >> more * step
            done += more
        if run != 0:
            return True
    return False


def image(mask: int, symmetry: int, board: Numbers, images: Numbers) -> int:
    """Return a mask under a symmetry of the board, by a look-up for each of its bytes."""
    found, at = 0, symmetry * board[BYTES] * 256
    while mask != 0:
        found |= images[at + (mask & 255)]
        mask >>= 8
        at += 256
    return found


def key_of(frames: Numbers, at: int, board: Numbers, images: Numbers) -> int:
    """Return the least key of all images of a position; note the symmetries worth trying below.

    Two positions below this one are images of each other only if this one and its image have
    no cell with stones of both colours.
    """
    own, filled, live = frames[at + OWN], frames[at + FILLED], frames[at + LIVE]
    bottom, shift = board[BOTTOM], board[CELLS]
    if bottom == 0:  # a dense mask, because two masks must fit into a key
        own, filled = image(own, 0, board, images), image(filled, 0, board, images)
        key = own << shift | filled
    else:
        key = own | (filled + bottom)
    other = filled ^ own
    still = live
    for symmetry in range(1, board[SYMMETRIES]):
        if live >> symmetry & 1 == 0:
            continue
        own_2 = image(frames[at + OWN], symmetry, board, images)
        filled_2 = image(frames[at + FILLED], symmetry, board, images)
        if (own_2 & other) | (own & (filled_2 ^ own_2)) != 0:
            still &= ~(1 << symmetry)
            continue
        key_2 = own_2 << shift | filled_2 if bottom == 0 else own_2 | (filled_2 + bottom)
        key = min(key, key_2)
    frames[at + LIVE] = still
    return key


def place(key: int, table: Numbers) -> int:
    """Return the index of the first of the two entries for a key; an entry is two words."""
    return ((key * ODD & MAX) >> 20) % (len(table) >> 2) << 2


def look_up(key: int, table: Numbers) -> int:
    """Return the data of a key in the table, or 0."""
    at = place(key, table)
    data = table[at + 1]
    if table[at] ^ data == key:
        return data
    data = table[at + 3]
    return data if table[at + 2] ^ data == key else 0


def keep(key: int, low: int, high: int, move: int, nodes: int, table: Numbers) -> int:
    """Store the bounds of a position, its best move and the work; return the number of new entries.

    An entry with less work moves to the second place.
    """
    work = 0
    while nodes != 0:
        nodes >>= 1
        work += 1
    at = place(key, table)
    data = ((work << 6 | move) << 7 | high + ZERO) << 7 | low + ZERO
    old, replaced = table[at + 1], table[at + 3]
    if table[at] ^ old == key or old == 0:
        replaced = old
    elif work >= old >> 20:
        table[at + 2], table[at + 3] = table[at], old
    else:
        at += 2
    table[at], table[at + 1] = key ^ data, data
    return 1 if replaced == 0 else 0


def expand(
    ply: int,
    stones: int,
    nodes: int,
    frames: Numbers,
    lists: Numbers,
    table: Numbers,
    board: Numbers,
    images: Numbers,
) -> int:
    """Return a bound of the score of a position, or OPEN after listing its moves, best first."""
    at, begin = ply * FIELDS, ply * MOST
    own, filled, goal = frames[at + OWN], frames[at + FILLED], frames[at + GOAL]
    cells, bottom, full, misere = board[CELLS], board[BOTTOM], board[FULL], board[MISERE]
    other, free = filled ^ own, full & ~filled
    moves = (filled + bottom) & full if bottom != 0 else free
    if misere != 0:
        moves &= ~threats(own, free, board)
        if moves == 0:  # every move completes a line, or the board is full
            return -((cells + 1 - stones) // 2) if stones < cells else 0
        if stones == cells - 1:
            return 0
        low, high = -((cells - 1 - stones) // 2), (cells - stones) // 2
    else:
        wins = threats(other, free, board)
        forced = moves & wins
        if forced & (forced - 1) != 0:
            return -((cells - stones) // 2)
        if forced != 0:
            moves = forced
        if bottom != 0:
            moves &= ~(wins >> 1)  # the other player would win above
        if moves == 0 and stones < cells:
            return -((cells - stones) // 2)
        if stones >= cells - 2:
            return 0
        low, high = -((cells - 2 - stones) // 2), (cells - 1 - stones) // 2
        if goal > 0:
            if high > 0 and not can_line(own | free, board):
                high = 0
        elif low < 0 and not can_line(other | free, board):
            low = 0
    if low >= goal:
        return low
    if high < goal:
        return high
    key = key_of(frames, at, board, images)
    data, first = look_up(key, table), 0
    if data != 0:
        low, high = max(low, (data & 127) - ZERO), min(high, (data >> 7 & 127) - ZERO)
        if low >= goal:
            return low
        if high < goal:
            return high
        move = data >> 14 & 63
        if move != NO_MOVE and frames[at + LIVE] == 0:
            first = 1 << move
    count = 0
    while moves != 0:
        move = moves & -moves
        moves ^= move
        after = own | move
        lines = threats(after, free ^ move, board)
        if misere != 0:
            worth = 64 - ones(lines)
        else:
            next_moves = (filled | move) + bottom & full if bottom != 0 else free ^ move
            ready = lines & next_moves
            if ready & (ready - 1) != 0 or (bottom != 0 and ready << 1 & lines != 0):
                return (cells - 1 - stones) // 2
            worth = ones(lines)
        worth = worth << 8 | board[ORDER + ones(move - 1)]
        if move == first:
            worth = 1 << 20
        worth = worth << 6 | ones(move - 1)
        to = begin + count
        while to > begin and lists[to - 1] < worth:
            lists[to] = lists[to - 1]
            to -= 1
        lists[to] = worth
        count += 1
    frames[at + KEY], frames[at + COUNT], frames[at + NEXT] = key, count, 0
    frames[at + BEST], frames[at + MOVE], frames[at + BEGAN] = -ZERO, NO_MOVE, nodes
    return OPEN


def run(
    state: Numbers,
    limit: int,
    frames: Numbers,
    lists: Numbers,
    table: Numbers,
    board: Numbers,
    images: Numbers,
) -> int:
    """Return a bound of the score of the first position of the path, or PAUSED.

    A bound that reaches the goal is a lower one, another is an upper one. The search pauses once
    it has examined `limit` positions, and goes on when called again.
    """
    ply, nodes = state[PLY], state[NODES]
    begin = ones(frames[FILLED])
    while True:
        if nodes >= limit:
            state[PLY], state[NODES] = ply, nodes
            return PAUSED
        nodes += 1
        bound = expand(ply, begin + ply, nodes, frames, lists, table, board, images)
        at = ply * FIELDS
        while bound != OPEN:
            if ply == 0:
                state[PLY], state[NODES] = 0, nodes
                return bound
            ply -= 1
            at -= FIELDS
            goal = frames[at + GOAL]
            if -bound > frames[at + BEST]:
                frames[at + BEST] = -bound
                frames[at + MOVE] = lists[ply * MOST + frames[at + NEXT] - 1] & 63
            bound = frames[at + BEST]
            if bound < goal and frames[at + NEXT] < frames[at + COUNT]:
                break
            low, high = -32, 32
            data = look_up(frames[at + KEY], table)
            if data != 0:
                low, high = (data & 127) - ZERO, (data >> 7 & 127) - ZERO
            if bound >= goal:
                low = max(low, bound)
                move = frames[at + MOVE]
            else:
                high = min(high, bound)
                move = NO_MOVE
            worked = nodes - frames[at + BEGAN]
            state[ENTRIES] += keep(frames[at + KEY], low, high, move, worked, table)
        move = 1 << (lists[ply * MOST + frames[at + NEXT]] & 63)
        frames[at + NEXT] += 1
        below = at + FIELDS
        frames[below + OWN] = frames[at + FILLED] ^ frames[at + OWN]
        frames[below + FILLED] = frames[at + FILLED] | move
        frames[below + GOAL] = 1 - frames[at + GOAL]
        frames[below + LIVE] = frames[at + LIVE]
        ply += 1


def compiled() -> Any:
    """Return `run` compiled by numba, which keeps it in a cache; raise an ImportError without."""
    from numba import njit

    names = dict(globals())
    for function in (ones, threats, can_line, image, key_of, place, look_up, keep, expand, run):
        copy = FunctionType(function.__code__, names)
        try:
            names[function.__name__] = njit(cache=True, nogil=True)(copy)
        except RuntimeError:  # no folder for the cache can be written
            names[function.__name__] = njit(nogil=True)(copy)
    return names["run"]

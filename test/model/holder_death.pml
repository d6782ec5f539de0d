// SPDX-License-Identifier: Apache-2.0
/*
 * The death of a holder: an owner comes back and leaves again (engine/door.cpp) while two helpers
 * take its word, and die with it in hand or give it back. The owner never sleeps for good: it gets
 * its word, or learns who died. With -DNO_DEADLINE, which must fail, it looks only when it comes
 * back, not when it takes the word for another try to leave.
 */
#define FREE 0
#define OWNED 1
#define HELD 2

byte state = FREE;
bool bell;
bool parked;
byte inside; /* who acts for the rank: must never exceed one */
bool is_over;
byte holder;   /* 1 or 2 */
bool dead[3];

/* A time-out may come whenever the owner sleeps. */
inline take_word(deadline)
{
    do
    :: d_step { state == FREE -> state = OWNED; bell = false };
        break
    :: d_step { state == HELD -> parked = true };
        if
        :: state == OWNED -> break
        :: d_step {
                deadline && state == HELD -> parked = false;
                if
                :: dead[holder] -> is_over = true /* fatal(), which names the holder */
                :: else -> skip
                fi
            };
            if
            :: is_over -> goto over
            :: else -> skip
            fi
        fi
    od;
    inside++;
    assert(inside == 1)
}

active proctype owner()
{
    bool again = false;
    take_word(true);
    do
    :: true ->
        d_step {
            inside--;
            state = FREE;
            again = bell;
            bell = false
        };
        if
        :: again ->
#ifdef NO_DEADLINE
            take_word(false)
#else
            take_word(true)
#endif
        :: else -> break
        fi
    od;
    is_over = true;
over:
    skip
}

active [2] proctype helper()
{
    byte me = _pid; /* 1 and 2: the owner is process 0 */
    bool again = true;
    bell = true;
    do
    :: again ->
        atomic {
            if
            :: state == FREE ->
                state = HELD;
                bell = false;
                holder = me;
                inside++;
                assert(inside == 1)
            :: else -> break
            fi
        };
        if
        :: d_step { dead[me] = true; inside-- }; break
        :: true -> skip
        fi;
        d_step {
            inside--;
            again = bell && !parked;
            state = (parked -> OWNED : FREE);
            parked = false;
            bell = false
        }
    :: else -> break
    od
}

active proctype monitor()
{
    timeout;
    assert(is_over)
}

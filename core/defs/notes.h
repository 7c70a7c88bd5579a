// SPDX-License-Identifier: MIT
/*
 * Each row is a note: a fact about an accepted program that its author may not
 * know. A note never changes the verdict.
 *
 * name: enumerator NB_NOTE_<name>;
 * word: stable word of the JSON form;
 * text: what the verifier knows, a template as in rules.h;
 * hint: advice on what to do.
 */
NOTE(ZERO_DIVISOR, "zero_divisor",
     "the divisor {text} 0: the quotient is then 0",
     "test the divisor first: if (n) x /= n;")
NOTE(ZERO_MODULUS, "zero_modulus",
     "the divisor {text} 0: the remainder is then the whole dividend",
     "test the divisor first: if (n) x %= n;")
NOTE(ADDRESS, "address",
     "an address is used as a number, which differs between processes",
     "use the value behind it, or subtract two pointers for a distance")
NOTE(IMPOSSIBLE_ANSWER, "impossible_answer",
     "ctx->{name} is set to {span}, but NCCL can take only {number} to {to}",
     "the answer is dropped and NCCL decides: assign a value in that range")
NOTE(NO_ANSWER, "no_answer",
     "no path sets an output of struct {ctx}, so NCCL always decides",
     "assign {text}, unless the program only records")
NOTE(DEAD_BRANCH, "dead_branch",
     "this branch has the same outcome on every path: it never leads to {where}",
     "remove the test, or correct its condition")

#undef NOTE

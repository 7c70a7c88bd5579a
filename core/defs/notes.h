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
NOTE(IMPOSSIBLE_ANSWER, "impossible_answer",
     "ctx->{name} is set to {span}, but NCCL can take only {number} to {to}",
     "the answer is dropped and NCCL decides: assign a value in that range")
NOTE(NO_ANSWER, "no_answer",
     "no path sets an output of struct {ctx}, so NCCL always decides",
     "assign {text}, unless the program only records")

#undef NOTE

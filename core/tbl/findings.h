// SPDX-License-Identifier: MIT
/*
 * One row a class of rejection.
 *
 * name  enumerator NB_FIND_<name>
 * word  stable word of the JSON form
 * text  what the class means, a sentence without subject's details
 * hint  general advice; "" where only the details can advise
 */
/*      name            word               text                                                          hint */
FINDING(UNINIT,         "uninit",          "a register or stack byte is read before it is written",      "give the variable a value on every path")

#undef FINDING

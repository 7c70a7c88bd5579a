// SPDX-License-Identifier: MIT
/*
 * Each row is an offence: a message of a peer that our GIN transport refuses
 * before it writes a byte. The connection then ends.
 *
 * name: enumerator NB_GIN_BAD_<name>;
 * word: name in replies and counters;
 * text: text for the log, after "it sent ".
 */
OFFENCE(HEADER, "header", "data without a valid message header")
OFFENCE(NUMBER, "number", "a message out of sequence")
OFFENCE(KIND, "kind", "a message of unknown kind")
OFFENCE(REGION, "region", "a message for memory that is not registered here")
OFFENCE(BOUNDS, "bounds", "a message that leaves its registered memory")
OFFENCE(ALIGNMENT, "alignment", "a signal at an address that is not a multiple of 8")
OFFENCE(SIGNAL, "signal", "an unknown signal operation")
OFFENCE(ANSWER, "answer", "the answer to a get that was not asked")
OFFENCE(GETS, "gets", "more gets than it may have outstanding")
#undef OFFENCE

// SPDX-License-Identifier: MIT
/*
 * One row a member of a family of instructions: NB_FN_<name>, its text, and of
 * a conditional jump the one that jumps where this one does not (NONE: there
 * is none).
 */
FN(NONE,      "",          NONE)
/* ALU */
FN(ADD,       "+=",        NONE)
FN(SUB,       "-=",        NONE)
FN(MUL,       "*=",        NONE)
FN(DIV,       "/=",        NONE)
FN(OR,        "|=",        NONE)
FN(AND,       "&=",        NONE)
FN(LSH,       "<<=",       NONE)
FN(RSH,       ">>=",       NONE)
FN(MOD,       "%=",        NONE)
FN(XOR,       "^=",        NONE)
FN(MOV,       "=",         NONE)
FN(ARSH,      "s>>=",      NONE)
FN(SDIV,      "s/=",       NONE)
FN(SMOD,      "s%=",       NONE)
FN(MOVSX8,    "s8",        NONE)
FN(MOVSX16,   "s16",       NONE)
FN(MOVSX32,   "s32",       NONE)
FN(NEG,       "",          NONE)
FN(LE,        "le",        NONE)
FN(BE,        "be",        NONE)
FN(BSWAP,     "bswap",     NONE)
/* JMP */
FN(JEQ,       "==",        JNE)
FN(JGT,       ">",         JLE)
FN(JGE,       ">=",        JLT)
FN(JSET,      "&",         NONE)
FN(JNE,       "!=",        JEQ)
FN(JSGT,      "s>",        JSLE)
FN(JSGE,      "s>=",       JSLT)
FN(JLT,       "<",         JGE)
FN(JLE,       "<=",        JGT)
FN(JSLT,      "s<",        JSGE)
FN(JSLE,      "s<=",       JSGT)
/* ATOMIC, beside ADD, OR, AND and XOR */
FN(FETCH_ADD, "fetch_add", NONE)
FN(FETCH_OR,  "fetch_or",  NONE)
FN(FETCH_AND, "fetch_and", NONE)
FN(FETCH_XOR, "fetch_xor", NONE)
FN(XCHG,      "xchg",      NONE)
FN(CMPXCHG,   "cmpxchg",   NONE)
/* CALL */
FN(HELPER,    "",          NONE)
FN(LOCAL,     "",          NONE)
/* LDDW */
FN(IMM,       "",          NONE)
FN(MAP,       "",          NONE)
FN(MAP_VALUE, "",          NONE)
FN(FUNC,      "",          NONE)

#undef FN

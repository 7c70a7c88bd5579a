# SPDX-License-Identifier: MIT
# golden
# no arithmetic on pointers that may be NULL
# expect: reject null_arith 6
lookup @counts, 4
# near: jeq %r0, 0, out
add %r0, 1
jeq %r0, 0, out
ldxb %r1, [%r0]

# SPDX-License-Identifier: MIT
# expect: accept
# A pointer to the end of a value is NULL on no rank.
lddw map_value %r6, @bss, 0
add %r6, 64
jeq %r6, 0, +1
stw [%r1+68], 1
mov %r0, 0
exit

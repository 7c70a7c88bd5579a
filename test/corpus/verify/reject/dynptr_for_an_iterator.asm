# SPDX-License-Identifier: MIT
# dynptr for an iterator
# expect: reject iterator 9
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16 # near:
call 0x10002 # near:
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: reject dynptr_memory 7
# opts: held
stdw [%r10-32], 0
mov %r1, %r10 # near: lddw map_value %r1, @bss, 0
add %r1, -32 # near:
mov %r2, 8
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# golden
# expect: reject dynptr_kind 10
# opts: held
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199 # near:
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# dynptr made in a value
# expect: reject dynptr_place 6
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
lddw map_value %r4, @bss, 32 # near: mov %r4, %r10
# near: add %r4, -16
call 197
mov %r0, 0
exit

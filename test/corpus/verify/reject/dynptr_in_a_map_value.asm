# SPDX-License-Identifier: MIT
# expect: reject dynptr_place 6
# opts: held
stw [%r10-4], 0
lddw map_value %r1, @bss, 0
mov %r2, 0
mov %r3, 8
mov %r4, 0
call 203 # near:
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: reject dynptr_place 6
# opts: held
lddw map_value %r4, @bss, 0
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 198
mov %r0, 0
exit

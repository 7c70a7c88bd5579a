# SPDX-License-Identifier: MIT
# expect: reject map_bounds 6
lddw map %r1, @ring
lddw map_value %r2, @bss, 0
mov %r3, 65 # near: mov %r3, 64
mov %r4, 0
call 130
mov %r0, 0
exit

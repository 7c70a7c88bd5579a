# SPDX-License-Identifier: MIT
# expect: reject map_bounds 6
# opts: held
lddw map_value %r1, @bss, 0
mov %r2, 65 # near: mov %r2, 64
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: reject map_read_only 6
# opts: held
lddw map_value %r1, @rodata, 0 # near: lddw map_value %r1, @counts, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r0, 0
exit

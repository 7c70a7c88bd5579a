# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
lddw map_value %r1, @data, 0
call 93
lddw map_value %r2, @data, 8
ldxdw %r3, [%r2]
add %r3, 1
stxdw [%r2], %r3
lddw map_value %r1, @data, 0
call 94
mov %r0, 0
exit

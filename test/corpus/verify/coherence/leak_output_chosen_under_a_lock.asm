# SPDX-License-Identifier: MIT
# expect: reject local_control 8
# flow: branch
# opts: held
mov %r6, %r1
lddw map_value %r1, @data, 0
call 93
lddw map_value %r2, @data, 8 # near: lddw map_value %r2, @limits, 8
ldxdw %r3, [%r2]
jgt %r3, 4, un
stw [%r6+76], 4
un:
lddw map_value %r1, @data, 0
call 94
mov %r0, 0
exit

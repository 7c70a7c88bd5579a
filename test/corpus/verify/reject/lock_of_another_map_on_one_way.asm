# SPDX-License-Identifier: MIT
# A lock is held on both ways, but of two maps.
# expect: reject unlock_other 13
# opts: held
ldxw %r7, [%r1+28]
jeq %r7, 3, other
lddw map_value %r1, @guarded, 8
call 93
ja s
other:
lddw map_value %r1, @data, 0 # near: lddw map_value %r1, @guarded, 8
call 93
s:
mov %r7, 0
mov %r0, 0
lddw map_value %r1, @guarded, 8
call 94
mov %r0, 0
exit

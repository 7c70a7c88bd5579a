# SPDX-License-Identifier: MIT
# The lock is at the start of the value, not of the map.
# expect: reject lock_none 2
lddw map %r1, @data # near: lddw map_value %r1, @data, 0
call 93
# near: lddw map_value %r1, @data, 0
# near: call 94
mov %r0, 0
exit

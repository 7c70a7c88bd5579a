# SPDX-License-Identifier: MIT
# Neither lock has an identity but its map.
# expect: reject unlock_other 5
# opts: held
lddw map_value %r1, @guarded, 8
call 93
lddw map_value %r1, @data, 0 # near: lddw map_value %r1, @guarded, 8
call 94
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: reject lock_none 3
# opts: held
stdw [%r10-8], 0
mov %r1, %r10 # near: lddw map_value %r1, @data, 0
add %r1, -8 # near:
call 93
# near: lddw map_value %r1, @data, 0
# near: call 94
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: reject map_kind 4
# opts: held
lddw map %r1, @counts
mov %r2, 16
mov %r3, 0
call 131
mov %r0, 0
exit

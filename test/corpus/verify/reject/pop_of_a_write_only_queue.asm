# SPDX-License-Identifier: MIT
# expect: reject map_write_only 4
lddw map %r1, @outbox # near: lddw map %r1, @inbox
mov %r2, %r10
add %r2, -8
call 88
mov %r0, 0
exit

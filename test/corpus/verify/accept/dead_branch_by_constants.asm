# SPDX-License-Identifier: MIT
# expect: accept
mov %r2, 4
jeq %r2, 4, ok
ldxdw %r0, [%r2]
exit
ok:
mov %r0, 0
exit

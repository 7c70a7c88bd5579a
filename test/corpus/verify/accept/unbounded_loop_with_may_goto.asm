# SPDX-License-Identifier: MIT
# expect: accept
find @counts
mov %r6, %r0
mov %r7, 0
l:
may_goto done
ldxdw %r1, [%r6]
add %r7, %r1
ja l
done:
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: accept
find @counts, 1
mov32 %r7, %r0
jgt %r7, 0x1ffffffe, out
sub %r0, %r7
jne %r0, 0, out
mov %r0, 1
exit

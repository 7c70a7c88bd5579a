# SPDX-License-Identifier: MIT
# expect: accept
# opts: wideshift
mov %r0, 1
lsh %r0, 65
rsh32 %r0, 33
exit

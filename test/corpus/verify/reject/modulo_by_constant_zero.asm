# SPDX-License-Identifier: MIT
# expect: reject div_zero 1
mov %r0, 1
smod32 %r0, 0 # near: smod32 %r0, 1
exit

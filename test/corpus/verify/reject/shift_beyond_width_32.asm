# SPDX-License-Identifier: MIT
# expect: reject shift_width 1
mov %r0, 1
rsh32 %r0, 32 # near: rsh32 %r0, 31
exit

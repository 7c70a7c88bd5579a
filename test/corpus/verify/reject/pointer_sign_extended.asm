# SPDX-License-Identifier: MIT
# expect: reject pointer_op 0
movsx3264 %r2, %r1
mov %r0, 0
exit

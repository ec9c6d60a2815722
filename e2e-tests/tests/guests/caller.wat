;; Makes the host call that its operation names, "<namespace>/<operation>", with the payload it was
;; called with, and answers what the host answered.
(module
  (import "wapc" "__guest_request" (func $guest_request (param $operation i32) (param $payload i32)))
  (import "wapc" "__guest_response" (func $guest_response (param $text i32) (param $length i32)))
  (import "wapc" "__guest_error" (func $guest_error (param $text i32) (param $length i32)))
  (import "wapc" "__host_call"
    (func $host_call (param i32 i32) (param i32 i32) (param i32 i32) (param i32 i32) (result i32)))
  (import "wapc" "__host_response_len" (func $host_response_len (result i32)))
  (import "wapc" "__host_response" (func $host_response (param $text i32)))
  (import "wapc" "__host_error_len" (func $host_error_len (result i32)))
  (import "wapc" "__host_error" (func $host_error (param $text i32)))

  (memory (export "memory") 3)
  (data (i32.const 0) "kubewarden")
  (global $operation i32 (i32.const 0x100))
  (global $payload i32 (i32.const 0x10000))
  (global $answer i32 (i32.const 0x20000))

  ;; How many bytes of the operation are before its first slash.
  (func $namespace_length (result i32)
    (local $length i32)
    (loop $next
      (if (i32.ne (i32.load8_u (i32.add (global.get $operation) (local.get $length))) (i32.const 47)) ;; '/'
        (then
          (local.set $length (i32.add (local.get $length) (i32.const 1)))
          (br $next))))
    (local.get $length))

  (func (export "__guest_call") (param $operation_length i32) (param $payload_length i32) (result i32)
    (local $slash i32)
    (call $guest_request (global.get $operation) (global.get $payload))
    (local.set $slash (call $namespace_length))
    (if (result i32)
      (call $host_call
        (i32.const 0) (i32.const 10)
        (global.get $operation) (local.get $slash)
        (i32.add (global.get $operation) (i32.add (local.get $slash) (i32.const 1)))
        (i32.sub (local.get $operation_length) (i32.add (local.get $slash) (i32.const 1)))
        (global.get $payload) (local.get $payload_length))
      (then
        (call $host_response (global.get $answer))
        (call $guest_response (global.get $answer) (call $host_response_len))
        (i32.const 1))
      (else
        (call $host_error (global.get $answer))
        (call $guest_error (global.get $answer) (call $host_error_len))
        (i32.const 0)))))

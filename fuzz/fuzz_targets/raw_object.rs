#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::raw_object::check(input));

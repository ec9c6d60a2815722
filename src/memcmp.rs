//! Compares bytes, eight at a time. The C library compares one at a time, with twenty instructions for each, and everything
//! that is searched or sorted is compared. Lists of a thousand long keys that begin alike would take most of what an
//! evaluation may.

/// Compares the bytes at `one` and `other`, as in C. The linker takes this in place of the C library's.
///
/// # Safety
/// Both have `length` bytes.
#[cfg(all(target_arch = "wasm32", feature = "guest"))]
#[expect(unsafe_code, reason = "the compiler calls it by this name to compare texts")]
#[unsafe(no_mangle)]
// Inlined, it would be a fiftieth of the module.
#[inline(never)]
pub unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    use std::slice::from_raw_parts;
    // SAFETY: both have so many bytes.
    let (one, other) = unsafe { (from_raw_parts(one, length), from_raw_parts(other, length)) };
    difference(one, other)
}

/// Returns a number below zero if `one` comes first, above zero if `other` does, or zero if they are equal. They have the
/// same length.
fn difference(one: &[u8], other: &[u8]) -> i32 {
    let (eights, rest) = one.as_chunks::<8>();
    let (other_eights, other_rest) = other.as_chunks::<8>();
    for (own, others) in eights.iter().zip(other_eights) {
        let (own, others) = (u64::from_le_bytes(*own), u64::from_le_bytes(*others));
        if own != others {
            // The first byte that differs is the lowest.
            let equal_bits = (own ^ others).trailing_zeros() / 8 * 8;
            let ([own, ..], [others, ..]) = ((own >> equal_bits).to_le_bytes(), (others >> equal_bits).to_le_bytes());
            return i32::from(own) - i32::from(others);
        }
    }
    for (own, others) in rest.iter().zip(other_rest) {
        if own != others {
            return i32::from(*own) - i32::from(*others);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn bytes_are_compared_as_the_standard_library_does() {
        for length in 0..40 {
            let equal = vec![b'k'; length];
            assert_eq!(difference(&equal, &equal), 0, "{length}");
            for position in 0..length {
                for (byte, next) in [(0, 0), (b'j', 255), (b'l', 0), (255, b'a')] {
                    let mut other = equal.clone();
                    other[position] = byte;
                    // What comes after the first difference does not matter.
                    other.iter_mut().skip(position + 1).for_each(|own| *own = next);
                    assert_eq!(difference(&equal, &other).signum(), equal.cmp(&other) as i32, "{length} {position}");
                    assert_eq!(difference(&other, &equal).signum(), other.cmp(&equal) as i32, "{length} {position}");
                }
            }
        }
    }
}

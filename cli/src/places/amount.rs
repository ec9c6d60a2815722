//! Amounts of a resource, as Kubernetes counts them.

use std::fmt;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// An amount of a resource, in thousandths: the API server rounds every request and every node's resource up to them
/// before anything is added.
///
/// Upstream: `SetDefaults_ResourceList` of `k8s.io/kubernetes/pkg/apis/core/v1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i128);

/// The suffixes of quantities, each a thousand times the one before.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// The binary suffixes; each is 1024 times the one before.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A quantity that does not fit into 64 bits counts as this one.
const MAX: i128 = (i64::MAX as i128) * 1000;

/// Digits beyond these only round up.
const SIGNIFICANT: usize = 20;

impl Amount {
    /// Returns the amount of this many whole units.
    pub fn whole(units: usize) -> Self {
        i64::try_from(units).map_or(Self(MAX), |units| Self(i128::from(units) * 1000))
    }

    /// Reads a quantity such as `500m`, `1.5Gi` or `1e3`, of any length, and rounds it up to thousandths. Returns `None` if
    /// the text is not a quantity.
    ///
    /// Upstream: `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource`.
    pub fn read(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.contains('.') {
            return None;
        }
        let (doublings, tens) = scale(suffix)?;
        let tens = tens.saturating_sub(i64::try_from(fraction.len()).ok()?);
        let magnitude = scaled(digits.trim_start_matches('0'), doublings, tens);
        Some(Self(if text.starts_with('-') { -magnitude } else { magnitude }))
    }

    /// Rounds up to whole units. The scheduler does so before it compares anything but CPU.
    pub fn rounded_up(self) -> Self {
        Self(self.0 + (-self.0).rem_euclid(1000))
    }

    /// Adds another amount.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Multiplies the amount.
    pub fn times(self, count: usize) -> Self {
        i128::try_from(count).map_or(Self(i128::MAX), |count| Self(self.0.saturating_mul(count)))
    }
}

/// Multiplies `digits` by a power of two and a power of ten, rounds up, and returns at most [`MAX`].
fn scaled(digits: &str, doublings: u32, tens: i64) -> i128 {
    let (kept, cut) = digits.split_at(digits.len().min(SIGNIFICANT));
    let tens = tens.saturating_add(i64::try_from(cut.len()).unwrap_or(i64::MAX));
    let is_more = cut.contains(|digit| digit != '0');
    let Ok(mantissa) = kept.parse::<u128>() else { return 0 };
    let mantissa = mantissa << doublings;
    let power = u32::try_from(tens.unsigned_abs()).ok().and_then(|tens| 10_u128.checked_pow(tens));
    let magnitude = match (power, tens < 0) {
        (Some(power), true) if is_more => mantissa / power + 1,
        (Some(power), true) => mantissa.div_ceil(power),
        (None, true) => 1,
        (Some(power), false) => mantissa.saturating_mul(power).saturating_add(u128::from(is_more)),
        (None, false) => u128::MAX,
    };
    i128::try_from(magnitude).map_or(MAX, |magnitude| magnitude.min(MAX))
}

/// Returns what a suffix multiplies thousandths by: doublings, and a power of ten.
fn scale(suffix: &str) -> Option<(u32, i64)> {
    if let Some((position, _)) = (-6..).step_by(3).zip(DECIMAL).find(|(_, own)| *own == suffix) {
        return Some((0, position));
    }
    if let Some((doublings, _)) = (10..).step_by(10).zip(BINARY).find(|(_, own)| *own == suffix) {
        return Some((doublings, 3));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((0, exponent.saturating_add(3)))
}

impl From<&Quantity> for Amount {
    /// Reads a quantity. Any other text counts as zero: an API server stores none.
    fn from(quantity: &Quantity) -> Self {
        Self::read(&quantity.0).unwrap_or_default()
    }
}

impl fmt::Display for Amount {
    /// Writes a quantity: `6`, `500m`, `4Gi`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1000 != 0 {
            return write!(f, "{}m", self.0);
        }
        let (mut units, mut suffix) = (self.0 / 1000, "");
        for binary in BINARY {
            if units == 0 || units % 1024 != 0 {
                break;
            }
            (units, suffix) = (units / 1024, binary);
        }
        write!(f, "{units}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::millis("500m", "0.5")]
    #[case::a_fraction("1.5", "1500m")]
    #[case::no_digit_after_the_point("1.", "1")]
    #[case::no_digit_before_it(".5", "500m")]
    #[case::binary("1Ki", "1024")]
    #[case::a_binary_fraction("0.5Gi", "512Mi")]
    #[case::decimal("1k", "1000")]
    #[case::an_exponent("1e3", "1k")]
    #[case::a_negative_exponent("5e-1", "500m")]
    #[case::exa("1E", "1e18")]
    #[case::signed("+1", "1")]
    #[case::rounded_up_to_thousandths("100.5m", "101m")]
    #[case::the_smallest("1n", "1m")]
    #[case::many_leading_zeros("0000000000000000000000000000000000000000001", "1")]
    #[case::many_digits_after_the_point("1.00000000000000000000000000000000000000000000000000000000000000001", "1001m")]
    #[case::many_zeros_after_the_point("1.0000000000000000000000000000000000000000000000000000000000000000000", "1")]
    #[case::many_digits_of_something_large("8.500000000000000000000000000000000000000000Gi", "8704Mi")]
    #[case::more_than_64_bits("99999999999999999999", "9223372036854775807")]
    #[case::far_more("1e999999", "9223372036854775807")]
    #[case::far_less("1e-999999", "1m")]
    fn quantities_are_compared_by_what_they_say(#[case] one: &str, #[case] other: &str) {
        assert_eq!(Amount::read(one).unwrap(), Amount::read(other).unwrap());
    }

    #[rstest]
    #[case::nothing("")]
    #[case::a_suffix_alone("Mi")]
    #[case::a_point_alone(".")]
    #[case::a_word("much")]
    #[case::two_suffixes("1mKi")]
    #[case::two_points("1.2.3")]
    #[case::two_signs("--1")]
    #[case::an_exponent_without_a_number("1e")]
    fn other_texts_are_no_quantities(#[case] text: &str) {
        assert_eq!(Amount::read(text), None);
    }

    #[test]
    fn amounts_are_ordered() {
        assert!(Amount::read("999m") < Amount::read("1"));
        assert!(Amount::read("1G") < Amount::read("1Gi"));
        assert!(Amount::read("-1") < Amount::read("0"));
    }

    #[rstest]
    #[case("6", "6")]
    #[case("1.5", "1500m")]
    #[case("4096Mi", "4Gi")]
    #[case("1000", "1000")]
    #[case("0", "0")]
    fn amounts_are_written_as_quantities(#[case] amount: &str, #[case] written: &str) {
        assert_eq!(Amount::read(amount).unwrap().to_string(), written);
    }

    #[rstest]
    #[case("1", "1")]
    #[case("1001m", "2")]
    #[case("1m", "1")]
    #[case("0", "0")]
    fn amounts_are_rounded_up(#[case] amount: &str, #[case] rounded: &str) {
        assert_eq!(Some(Amount::read(amount).unwrap().rounded_up()), Amount::read(rounded));
    }
}

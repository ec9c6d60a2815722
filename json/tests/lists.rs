//! Lists: elements are read, added, edited and removed, and the others are written as they came.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use json::{List, Object, Outline, Value};
use rstest::rstest;

const TEXT: &str = r#"{"l": [ {"a" : 1}, "b,]" ,[2,[3]], null,{"c":4.0}] }"#;

const OUTLINES: [Outline; 4] = [
    Outline::FLAT,
    Outline::Object(&[("l", Outline::List(&Outline::Whole))]),
    Outline::Object(&[("l", Outline::OBJECTS)]),
    Outline::Object(&[("l", Outline::ListBy("a"))]),
];

#[rstest]
#[case::nothing(|_: &mut List| {}, TEXT)]
#[case::looking(look, TEXT)]
#[case::one_behind(|list: &mut List| list.push("d"), r#"{"l":[{"a" : 1},"b,]",[2,[3]],null,{"c":4.0},"d"]}"#)]
#[case::one_before(
    |list: &mut List| list.insert(0, Object::new()),
    r#"{"l":[{},{"a" : 1},"b,]",[2,[3]],null,{"c":4.0}]}"#
)]
#[case::one_between(
    |list: &mut List| list.insert(4, Value::null()),
    r#"{"l":[{"a" : 1},"b,]",[2,[3]],null,null,{"c":4.0}]}"#
)]
#[case::one_beyond(|list: &mut List| list.insert(9, 1), r#"{"l":[{"a" : 1},"b,]",[2,[3]],null,{"c":4.0},1]}"#)]
#[case::one_edited(
    |list: &mut List| list.object_mut(0).unwrap().set("a", 2),
    r#"{"l":[{"a":2},"b,]",[2,[3]],null,{"c":4.0}]}"#
)]
#[case::one_replaced(|list: &mut List| assert!(list.set(1, true)), r#"{"l":[{"a" : 1},true,[2,[3]],null,{"c":4.0}]}"#)]
#[case::one_put_again(|list: &mut List| assert!(list.set(1, "b,]")), TEXT)]
#[case::none_to_replace(|list: &mut List| assert!(!list.set(5, 1)), TEXT)]
#[case::another_takes_its_place(
    |list: &mut List| *list.object_mut(0).unwrap() = Object::parse(r#"{"x" : 1}"#, &Outline::FLAT).unwrap(),
    r#"{"l":[{"x" : 1},"b,]",[2,[3]],null,{"c":4.0}]}"#
)]
#[case::two_change_places(swap, r#"{"l":[{"c":4.0},"b,]",[2,[3]],null,{"a" : 1}]}"#)]
#[case::some_are_kept(
    |list: &mut List| list.retain(|element| element.object().is_ok()),
    r#"{"l":[{"a" : 1},{"c":4.0}]}"#
)]
#[case::all_are_kept(|list: &mut List| list.retain(|_| true), TEXT)]
#[case::none_is_kept(|list: &mut List| list.retain(|_| false), r#"{"l":[]}"#)]
#[case::another_list(|list: &mut List| *list = List::new(), r#"{"l":[]}"#)]
fn elements_that_nobody_touches_stay(#[case] edit: fn(&mut List), #[case] expected: &str) {
    for outline in &OUTLINES {
        let mut whole = Object::parse(TEXT, outline).unwrap();
        edit(whole.list_mut("l").unwrap());
        assert_eq!(whole.to_string(), expected, "{outline:?}");
        assert_eq!(whole.text_len(), expected.len());
        assert_eq!(whole.is_changed(), expected != TEXT);
        let list = whole.list("l").unwrap().unwrap();
        assert_eq!((list.is_changed(), list.text_len()), (expected != TEXT, list.to_string().len()));
        let written = Object::parse(expected, &Outline::FLAT).unwrap();
        let written = written.list("l").unwrap().unwrap();
        assert!(list.iter().eq(written.iter()) && list.len() == written.len());
        assert_eq!(list.is_empty(), written.iter().next().is_none());
        for (position, element) in written.into_iter().enumerate() {
            assert_eq!(list.get(position), Some(element));
        }
        assert!(list.by("a").eq(written.by("a")), "what was found on the way is no more");
    }
}

fn look(list: &mut List) {
    list.object_mut(0).unwrap();
    assert_eq!(list.object_mut(1).unwrap_err().to_string(), "[1]: expected an object, found a string");
    assert_eq!(list.object_mut(5).unwrap_err().to_string(), "[5]: expected an object, found nothing");
    let errors: Vec<_> =
        list.objects_mut().filter_map(|object| object.map_err(|error| error.to_string()).err()).collect();
    assert_eq!(
        errors,
        [
            "[1]: expected an object, found a string",
            "[2]: expected an object, found a list",
            "[3]: expected an object, found null"
        ]
    );
    assert_eq!(list.objects().flatten().count(), 2);
    assert_eq!(list.strings().flatten().count(), 1);
}

fn swap(list: &mut List) {
    let mut objects = list.objects_mut().flatten();
    std::mem::swap(objects.next().unwrap(), objects.next().unwrap());
}

#[test]
fn many_elements_are_edited_at_once() {
    let mut whole = Object::parse(r#"{"l":[{"n" : 1},{"n" : 2},{}]}"#, &OUTLINES[2]).unwrap();
    for object in whole.list_mut("l").unwrap().objects_mut() {
        let object = object.unwrap();
        if object.integer("n").unwrap() != Some(1) {
            object.set("n", 3);
        }
    }
    assert_eq!(whole.to_string(), r#"{"l":[{"n" : 1},{"n":3},{"n":3}]}"#);
}

#[test]
fn elements_are_found_by_a_key_whether_that_was_known_before_or_not() {
    let list = r#"[{"name":"a"}, 1, {"name":"\u0062","x":[{"name":"y"}]},{"n\u0061me":"c"},{"name":"x","name":"d"},
        {"name":"x","name":3},{"name":null},{"Name":"x"},{},"name",null,["name"],{"name":"\ud800"},{ "name" : "e" }]"#;
    let text = format!(r#"{{"l":{list}}}"#);
    let outlines = [&Outline::FLAT, &Outline::Object(&[("l", Outline::ListBy("name"))]), &OUTLINES[3]];
    let afterwards = [Outline::Whole, Outline::OBJECTS, Outline::ListBy("name"), Outline::FLAT];
    for (outline, afterwards) in outlines.iter().flat_map(|outline| afterwards.each_ref().map(|other| (outline, other)))
    {
        let whole = Object::parse(text.as_str(), outline).unwrap();
        whole.take_apart("l", afterwards);
        whole.take_apart("none", afterwards);
        let list = whole.list("l").unwrap().unwrap();
        let names: Vec<_> = list.by("name").map(|(name, _)| name.unwrap_or_default()).collect();
        assert_eq!(names, ["a", "", "b", "c", "d", "", "", "", "", "", "", "", "", "e"]);
        assert!(list.by("name").map(|(_, element)| element).eq(list.iter()));
        assert_eq!(list.by("none").filter(|(name, _)| name.is_some()).count(), 0);
        assert!(!whole.is_changed());
    }
}

#[test]
fn a_list_is_made() {
    let mut list: List = [1, 2].into_iter().collect();
    list.push([true].into_iter().collect::<List>());
    assert_eq!(list.to_string(), "[1,2,[true]]");
    assert!(list.is_changed());
    assert_eq!(list, Value::parse("[1,2,[true]]", &Outline::Whole).unwrap().list().unwrap().clone());
    assert_ne!(list, List::default());
}

#[rstest::rstest]
#[case("[1,2]", "[1,2]", true)]
#[case("[1,2]", "[1, 2]", false)]
#[case("[1,2]", "[2,1]", false)]
fn lists_are_equal_that_are_written_the_same(#[case] one: &str, #[case] other: &str, #[case] are_equal: bool) {
    let [one, other] = [one, other].map(|text| Value::parse(text, &Outline::Whole).unwrap());
    assert_eq!(one.list().unwrap() == other.list().unwrap(), are_equal);
    assert!(one.list().unwrap().into_iter().eq(one.list().unwrap().iter()));
    assert_eq!(one.list().unwrap().into_iter().count(), 2);
}
